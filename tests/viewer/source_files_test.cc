// Source files: found wherever the tree was built, and never outside the
// directories that the user named.
#include "viewer/server/api/source_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "tests/viewer/index_fixture.h"

namespace countrace::viewer {
namespace {

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("source_files: a file is found by its path's end", "[viewer]") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/tree";
  Write(root + "/src/a.cc", "one\ntwo\n");
  Write(root + "/b.cc", "b\n");
  const auto files = SourceFiles::Open({root});
  REQUIRE(files.ok());
  for (const char* location :
       {"src/a.cc:2", "../../src/a.cc:2", "/home/x/tree/src/a.cc:2",
        "./src/a.cc:2", "../build/../src/a.cc:2"}) {
    CAPTURE(location);
    const auto file = files->Read(location);
    REQUIRE(file.ok());
    CHECK(file->path.ends_with("src/a.cc"));
    CHECK(file->text == "one\ntwo\n");
    CHECK(file->line == 2);
  }
  CHECK(files->Read("b.cc")->line == 0);
  CHECK(absl::IsNotFound(files->Read("other.cc:1").status()));
  for (const char* location : {"", ":7", "/", "../", "./:1"}) {
    CAPTURE(location);
    CHECK(absl::IsInvalidArgument(files->Read(location).status()));
  }
}

TEST_CASE("source_files: no path and no link leads out", "[viewer]") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/tree";
  Write(directory.path() + "/secret", "no");
  Write(root + "/src/a.cc", "a");
  std::filesystem::create_symlink("../secret", root + "/up");
  std::filesystem::create_symlink(directory.path() + "/secret", root + "/far");
  std::filesystem::create_symlink(directory.path(), root + "/out");
  std::filesystem::create_symlink("src/a.cc", root + "/inside");
  std::filesystem::create_symlink("/proc/self/root", root + "/proc");
  REQUIRE(::mkfifo((root + "/fifo").c_str(), 0600) == 0);
  const auto files = SourceFiles::Open({root});
  REQUIRE(files.ok());
  for (const char* location :
       {"up:1", "far:1", "out/secret:1", "src/../../secret:1", "src/..:1",
        "src:1", "fifo:1", "proc/etc/passwd:1", "/etc/passwd:1", "..:1"}) {
    CAPTURE(location);
    CHECK(!files->Read(location).ok());
  }
  CHECK(files->Read("inside:1")->text == "a");
  CHECK(!files->Read(std::string("src/a.cc\0:1", 11)).ok());
}

TEST_CASE("source_files: large files and missing directories are refused",
          "[viewer]") {
  const TemporaryDirectory directory;
  Write(directory.path() + "/most.cc", std::string(kMaxSourceBytes, 'x'));
  Write(directory.path() + "/more.cc", std::string(kMaxSourceBytes + 1, 'x'));
  const auto files = SourceFiles::Open({directory.path()});
  REQUIRE(files.ok());
  CHECK(files->Read("most.cc:1").ok());
  CHECK(absl::IsResourceExhausted(files->Read("more.cc:1").status()));
  CHECK(
      !SourceFiles::Open({directory.path(), directory.path() + "/none"}).ok());
  CHECK(!SourceFiles::Open({directory.path() + "/most.cc"}).ok());
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a/";
  CHECK(!files->Read(deep + "most.cc:1").ok());
}

}  // namespace
}  // namespace countrace::viewer
