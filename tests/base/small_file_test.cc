#include "base/posix/small_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace countrace::base {
namespace {

using test_support::TempDirectory;

TEST_CASE("small_file: reads files whose size is not known beforehand",
          "[base][small_file]") {
  const auto self = ReadSmallFile("/proc/self/stat");
  REQUIRE(self.ok());
  CHECK(self->starts_with(std::to_string(getpid()) + " ("));

  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string long_text(10'000, 'x');
  std::ofstream(temp / "long") << long_text;
  const auto read = ReadSmallFile(temp / "long");
  REQUIRE(read.ok());
  CHECK(*read == long_text);
}

TEST_CASE("small_file: an error says which file and why",
          "[base][small_file]") {
  const auto none = ReadSmallFile("/proc/no-such-file");
  CHECK(absl::IsNotFound(none.status()));
  CHECK(none.status().message() ==
        "Cannot open /proc/no-such-file: No such file or directory");
}

TEST_CASE("small_file: numbers and names", "[base][small_file]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  std::ofstream(temp / "b") << " -12\n";
  std::ofstream(temp / "a") << "text";
  CHECK(ReadNumber(temp / "b") == -12);
  CHECK_FALSE(ReadNumber(temp / "a").has_value());
  CHECK_FALSE(ReadNumber(temp / "c").has_value());
  const auto names = ListDirectory(-1, temp.path());
  REQUIRE(names.ok());
  CHECK(*names == std::vector<std::string>{"a", "b"});
}

}  // namespace
}  // namespace countrace::base
