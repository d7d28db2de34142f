// Catch2 version 2 compiles its main here; version 3 brings its own.
#if WHILST_CATCH2_VERSION < 3
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
