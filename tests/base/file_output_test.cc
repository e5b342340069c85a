#include "base/posix/file_output.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "base/posix/small_file.h"
#include "tests/support/trace_builder.h"

namespace countrace::base {
namespace {

using test_support::TempDirectory;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST_CASE("file_output: the new content has the name only at the end",
          "[base][file_output]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  std::ofstream(temp / "file") << "old";
  FileOutput out;
  REQUIRE(out.Create(temp / "file.new").ok());
  REQUIRE(out.WriteAt(0, Bytes("new text")).ok());
  REQUIRE(out.SetLength(3).ok());
  CHECK(*ReadSmallFile(temp / "file") == "old");
  REQUIRE(out.RenameTo(temp / "file").ok());
  CHECK(*ReadSmallFile(temp / "file") == "new");
  CHECK_FALSE(std::filesystem::exists(temp / "file.new"));
}

TEST_CASE("file_output: a link is replaced, never followed",
          "[base][file_output]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  std::ofstream(temp / "target") << "kept";
  std::filesystem::create_symlink(temp / "target", temp / "link");
  FileOutput existing;
  CHECK_FALSE(existing.OpenExisting(temp / "link").ok());
  FileOutput out;
  REQUIRE(out.Create(temp / "link").ok());
  REQUIRE(out.WriteAt(0, Bytes("x")).ok());
  CHECK(*ReadSmallFile(temp / "target") == "kept");
  CHECK_FALSE(std::filesystem::is_symlink(temp / "link"));
}

}  // namespace
}  // namespace countrace::base
