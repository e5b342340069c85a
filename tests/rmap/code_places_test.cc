// Names of this test's own functions, from copies of its file.
#include "rmap/samples/names/code_places.h"

#include <link.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

extern "C" {
__attribute__((noinline, used)) int countrace_test_first() { return 1; }
__attribute__((noinline, used)) int countrace_test_second() { return 2; }
}

namespace countrace::rmap {
namespace {

// Where the code at an address of this program lies in its file.
std::uint64_t OffsetOf(int (*function)()) {
  struct Wanted {
    std::uint64_t address;
    std::optional<std::uint64_t> offset = {};
  } wanted{reinterpret_cast<std::uint64_t>(function)};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& [address, offset] = *static_cast<Wanted*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::uint64_t into = address - info->dlpi_addr - part.p_vaddr;
          if (part.p_type == PT_LOAD && into < part.p_filesz) {
            offset = part.p_offset + into;
          }
        }
        return offset ? 1 : 0;
      },
      &wanted);
  REQUIRE(wanted.offset);
  return *wanted.offset;
}

struct Copies {
  std::filesystem::path folder;

  Copies() {
    std::string name =
        std::filesystem::temp_directory_path() / "countrace-places-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    for (const char* const copy : {"one", "other"}) {
      std::filesystem::copy_file("/proc/self/exe", folder / copy);
    }
  }
  ~Copies() { std::filesystem::remove_all(folder); }
};

Samples SamplesOf(const Copies& copies) {
  Samples samples;
  samples.files = {{}, {copies.folder / "one", ""}};
  samples.frames = {{},
                    {0, 1, OffsetOf(countrace_test_first)},
                    {0, 1, OffsetOf(countrace_test_second)}};
  return samples;
}

TEST_CASE("code places: two with one symbolizer read a file once") {
  const Copies copies;
  const Samples samples = SamplesOf(copies);
  Symbolizer symbolizer;
  CodePlaces by_address(samples, SampleBy::kAddress, &symbolizer);
  CodePlaces by_function(samples, SampleBy::kFunction, &symbolizer);
  CHECK(by_address[by_address.Of(1).front()].function ==
        "countrace_test_first");
  std::filesystem::remove(copies.folder / "one");
  CHECK(by_function[by_function.Of(2).back()].function ==
        "countrace_test_second");
  CHECK(by_function.messages().empty());
  // One of its own finds none.
  CodePlaces alone(samples, SampleBy::kFunction);
  CHECK(alone[alone.Of(2).back()].function == "[stripped]");
  CHECK(alone.messages().size() == 1);
}

TEST_CASE("symbolizer: what it said last is of that place alone") {
  const Copies copies;
  const std::string one = copies.folder / "one";
  const std::uint64_t first = OffsetOf(countrace_test_first);
  const std::uint64_t second = OffsetOf(countrace_test_second);
  Symbolizer symbolizer;
  const auto name = [&](const CodeFile& file, std::uint64_t offset) {
    return symbolizer.NamesOf(file, offset).back().function;
  };
  CHECK(name({one, ""}, first) == "countrace_test_first");
  CHECK(name({one, ""}, first) == "countrace_test_first");
  CHECK(name({one, ""}, second) == "countrace_test_second");
  CHECK(name({copies.folder / "other", ""}, second) == "countrace_test_second");
  CHECK(name({copies.folder / "absent", ""}, second).empty());
  CHECK(name({one, "0123"}, second).empty());
  CHECK(name({one, ""}, second) == "countrace_test_second");
}

}  // namespace
}  // namespace countrace::rmap
