#include "runtime/recorder/kernel/hooks/usdt_notes.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "tests/runtime/recorder/kernel/hooks/elf_sections.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

std::set<std::string> Names(const std::vector<UsdtNote>& notes) {
  std::set<std::string> names;
  for (const UsdtNote& note : notes) {
    names.insert(note.provider + ":" + note.name);
  }
  return names;
}

TEST_CASE("usdt_notes: a program with hooks names each of them",
          "[recorder][usdt_notes]") {
  const auto notes = ReadUsdtNotes(COUNTRACE_PROGRAM_WITH_HOOKS);
  REQUIRE(notes.ok());
  const std::set<std::string> names = Names(*notes);
  CHECK(names == std::set<std::string>{"hello:work__enter", "hello:work__exit",
                                       "hello:sum"});
  for (const UsdtNote& note : *notes) CHECK(note.address != 0);
}

TEST_CASE("usdt_notes: a missing file and a file that is no program differ",
          "[recorder][usdt_notes]") {
  CHECK(absl::IsNotFound(ReadUsdtNotes("/nonexistent/program").status()));
  CHECK(absl::IsInvalidArgument(ReadUsdtNotes("/proc/self/status").status()));
}

TEST_CASE(
    "usdt_notes: a program cut short or damaged at any byte never crashes",
    "[recorder][usdt_notes][property]") {
  std::ifstream file(COUNTRACE_PROGRAM_WITH_HOOKS, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  REQUIRE(whole.size() > 4096);
  const fs::path path = fs::temp_directory_path() /
                        ("countrace-usdt-" + std::to_string(getpid()));
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    const std::size_t at = whole.size() * static_cast<std::size_t>(i) / 200;
    if (i % 2 == 0) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
    }
    std::ofstream(path, std::ios::binary) << bytes;
    const auto notes = ReadUsdtNotes(path.string());
    if (!notes.ok()) CHECK_FALSE(notes.status().message().empty());
  }
  fs::remove(path);
}

TEST_CASE("usdt_notes: sections that share their bytes have a bound",
          "[recorder][usdt_notes]") {
  const test_support::TempDirectory folder;
  ElfSections program(COUNTRACE_PROGRAM_WITH_HOOKS);
  const Elf64_Shdr notes = program.Find(".note.stapsdt");
  program.headers.resize(60'000, notes);
  REQUIRE(program.headers.size() * notes.sh_size > 4 << 20);
  program.Write(folder / "program");
  const auto read = ReadUsdtNotes(folder / "program");
  CHECK(absl::IsDataLoss(read.status()));
}

TEST_CASE("usdt_notes: a file with numbers of sections like no program's",
          "[recorder][usdt_notes]") {
  const test_support::TempDirectory folder;
  ElfSections program(COUNTRACE_PROGRAM_WITH_HOOKS);
  program.Write(folder / "program");
  CHECK(HasHooks(folder / "program"));
  // The number is in the first section, so that it may be any.
  program.headers.front().sh_size = program.headers.size();
  program.WriteWithNumber(folder / "program", 0);
  CHECK_FALSE(HasHooks(folder / "program"));
  CHECK(absl::IsInvalidArgument(ReadUsdtNotes(folder / "program").status()));
  CHECK(absl::IsInvalidArgument(
      ReadFunctionSymbols(folder / "program").status()));
}

}  // namespace
}  // namespace countrace::runtime
