#include "base/text/demangled.h"

#include <catch2/catch.hpp>

namespace countrace::base {
namespace {

TEST_CASE("demangled: C++") {
  CHECK(Demangled("_ZN6server6handleERKSs") ==
        "server::handle(std::string const&)");
  CHECK(Demangled("_Zrubbish") == "_Zrubbish");
}

TEST_CASE("demangled: Rust's older mangling, without hash and escapes") {
  CHECK(Demangled("_ZN4core3ptr17h0123456789abcdefE") == "core::ptr");
  CHECK(Demangled("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo.."
                  "Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE") ==
        "<Test + 'static as foo::Bar<Test>>::bar");
}

// https://rust-lang.github.io/rfcs/2603-rust-symbol-name-mangling-v0.html
TEST_CASE("demangled: Rust's newer mangling") {
  CHECK(Demangled("_RNvC6_123foo3bar") == "123foo::bar");
  CHECK(Demangled("_RNvNtCs1234_7mycrate3foo3bar") == "mycrate::foo::bar");
  CHECK(Demangled("_RINvC7mycrate3foolE") == "mycrate::foo::<i32>");
  CHECK(Demangled("_Rubbish") == "_Rubbish");
}

TEST_CASE("demangled: names of other languages, and very long ones, stay") {
  CHECK(Demangled("main") == "main");
  CHECK(Demangled("main.(*server).handle") == "main.(*server).handle");
  CHECK(Demangled("") == "");
  for (const char* begin : {"_Z", "_R"}) {
    const std::string huge = begin + std::string(100'000, '1');
    CHECK(Demangled(huge) == huge);
    const std::string deep = begin + std::string(4'000, 'N');
    CHECK(Demangled(deep) == deep);
  }
}

}  // namespace
}  // namespace countrace::base
