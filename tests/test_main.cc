// Catch2's main for every test program. No signal handlers of Catch2: tests of
// signals and crashes need their own.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
