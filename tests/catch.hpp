#pragma once

/// The one place that knows which Catch2 this is: version 2 in Debian 12 and Ubuntu 22.04, version 3 later.

#include <string>

#if WHILST_CATCH2_VERSION >= 3
#include <catch2/catch_all.hpp>
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
