#include "base/posix/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/support/trace_builder.h"

namespace countrace::base {
namespace {

using test_support::TempDirectory;

TEST_CASE("regular_file: pipes, devices and folders are not opened",
          "[base][regular_file]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  REQUIRE(mkfifo((temp / "pipe").c_str(), 0600) == 0);
  REQUIRE(symlink("/dev/ptmx", (temp / "link").c_str()) == 0);
  for (const std::string& path :
       {temp / "pipe", temp / "link", std::string("/dev/zero"), temp.path()}) {
    INFO(path);
    const auto file = OpenRegularFile(path);
    CHECK(absl::IsFailedPrecondition(file.status()));
    CHECK(file.status().message() == "it is no regular file");
  }
  CHECK(absl::IsNotFound(OpenRegularFile(temp / "none").status()));
}

TEST_CASE("regular_file: a link is followed, or refused",
          "[base][regular_file]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  std::ofstream(temp / "file") << "text";
  REQUIRE(symlink("file", (temp / "link").c_str()) == 0);
  CHECK(OpenRegularFile(temp / "link").ok());
  CHECK(OpenRegularFile(temp / "file", LastLink::kRefused).ok());
  CHECK(OpenRegularFile(temp / "link", LastLink::kRefused).status().message() ==
        "it is a symbolic link");
}

TEST_CASE("regular_file: the limit holds for files that hide their size",
          "[base][regular_file]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  std::ofstream(temp / "file") << std::string(100'000, 'x');
  CHECK(ReadRegularFile(temp / "file", 100'000).value().size() == 100'000);
  CHECK(ReadRegularFile(temp / "file", 99'999).status().message() ==
        "it has more than 99999 bytes");
  CHECK(ReadRegularFile("/proc/self/stat", 100'000).ok());
  CHECK(absl::IsResourceExhausted(
      ReadRegularFile("/proc/kallsyms", 100'000).status()));
}

}  // namespace
}  // namespace countrace::base
