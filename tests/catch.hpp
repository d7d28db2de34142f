#pragma once

/// The one place that knows which Catch2 this is: version 2 in Debian 12 and Ubuntu 22.04, version 3 later.

#include <string>

// Half the code for each assertion; an exception in one ends its test case.
#define CATCH_CONFIG_FAST_COMPILE

#if WHILST_CATCH2_VERSION >= 3
#include <catch2/catch_all.hpp>
#if defined(__CUDACC__)
// The front end of nvcc 13.0 never comes back from version 3's pragmas where a member function that is defined in its
// class has an assertion. So one for the whole file, in place of one around each.
#undef CATCH_INTERNAL_START_WARNINGS_SUPPRESSION
#undef CATCH_INTERNAL_STOP_WARNINGS_SUPPRESSION
#undef CATCH_INTERNAL_SUPPRESS_PARENTHESES_WARNINGS
#undef CATCH_INTERNAL_SUPPRESS_SHADOW_WARNINGS
#undef CATCH_INTERNAL_SUPPRESS_UNUSED_RESULT
#undef CATCH_INTERNAL_SUPPRESS_UNUSED_VARIABLE_WARNINGS
#undef CATCH_INTERNAL_SUPPRESS_USELESS_CAST_WARNINGS
#define CATCH_INTERNAL_START_WARNINGS_SUPPRESSION
#define CATCH_INTERNAL_STOP_WARNINGS_SUPPRESSION
#define CATCH_INTERNAL_SUPPRESS_PARENTHESES_WARNINGS
#define CATCH_INTERNAL_SUPPRESS_SHADOW_WARNINGS
#define CATCH_INTERNAL_SUPPRESS_UNUSED_RESULT
#define CATCH_INTERNAL_SUPPRESS_UNUSED_VARIABLE_WARNINGS
#define CATCH_INTERNAL_SUPPRESS_USELESS_CAST_WARNINGS
#pragma GCC diagnostic ignored "-Wparentheses"
#endif
#else
#include <catch2/catch.hpp>
#endif

namespace whilst_test {

#if WHILST_CATCH2_VERSION >= 3
using Catch::Approx;
/// Matches a std::string that holds this text, as in REQUIRE_THROWS_WITH and CHECK_THAT.
inline auto contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
using Catch::Detail::Approx;
inline auto contains(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

}  // namespace whilst_test

#if WHILST_CATCH2_VERSION >= 3
using Catch::Approx;  // version 2 declares it there
#endif
