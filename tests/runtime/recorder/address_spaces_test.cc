// Which file an address is of, against a model of each page.
#include "runtime/recorder/samples/address_spaces.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/code/elf_identity.h"
#include "base/posix/regular_file.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/samples/process_maps.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::int32_t kFirstPid = 0x7f000000;  // not one of this machine

// Pages of each process: file and offset.
using Model = std::map<std::uint64_t, std::pair<std::string, std::uint64_t>>;

TEST_CASE("address spaces: each page is of the file that was mapped last") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(200u); ++seed) {
    std::mt19937 random(seed);
    CodeFiles files;
    AddressSpaces spaces(files);
    std::map<std::int32_t, Model> models;
    const auto pid = [&] {
      return kFirstPid + static_cast<std::int32_t>(random() % 4);
    };
    for (int step = 0; step < 200; ++step) {
      const std::int32_t process = pid();
      switch (random() % 8) {
        case 0: {
          spaces.NewProgram(process);
          models[process].clear();
          break;
        }
        case 1: {
          const std::int32_t child = pid();
          if (child == process) break;
          spaces.Fork(process, child);
          models[child] = models[process];
          break;
        }
        case 2:
          spaces.End(process);
          models[process].clear();
          break;
        default: {
          const std::uint64_t page = random() % 64;
          const std::uint64_t pages = 1 + random() % 16;
          const std::uint64_t offset = random() % 100 * kPage;
          const std::string path = "/lib/" + std::to_string(random() % 5);
          spaces.Map(process, page * kPage, pages * kPage, offset, path, "ab");
          for (std::uint64_t i = 0; i < pages; ++i) {
            models[process][page + i] = {path, offset + i * kPage};
          }
        }
      }
      const std::int32_t asked = pid();
      const std::uint64_t address = random() % (96 * kPage);
      const CodePlace place = spaces.Find(asked, address);
      const auto known = models[asked].find(address / kPage);
      if (known == models[asked].end()) {
        REQUIRE(files[place.file].path == logformat::kUnknownCode);
        REQUIRE(place.address == address);
      } else {
        REQUIRE(files[place.file].path == known->second.first);
        REQUIRE(place.address == known->second.second + address % kPage);
      }
    }
  }
}

TEST_CASE("address spaces: memory without a file is code made at run time") {
  CodeFiles files;
  AddressSpaces spaces(files);
  spaces.NewProgram(kFirstPid);
  spaces.NewProgram(kFirstPid + 1);
  spaces.Map(kFirstPid, kPage, kPage, 0, "//anon", "");
  spaces.Map(kFirstPid + 1, kPage, kPage, 0, "", "");
  const CodePlace place = spaces.Find(kFirstPid, kPage + 7);
  CHECK(files[place.file].path == logformat::kJitCode);
  CHECK(place.address == kPage + 7);
  CHECK(place.file != spaces.Find(kFirstPid + 1, kPage + 7).file);
}

TEST_CASE("address spaces: a running process is looked up") {
  CodeFiles files;
  AddressSpaces spaces(files);
  const auto here = reinterpret_cast<std::uint64_t>(&ReadProcessMaps);
  const CodePlace place = spaces.Find(getpid(), here);
  CHECK(files[place.file].path.ends_with("recorder_unit_test"));
  std::vector<std::string> messages;
  spaces.EndIdentities(messages);
  CHECK(messages.empty());
  const auto own = base::OpenRegularFile("/proc/self/exe");
  REQUIRE(own.ok());
  std::uint64_t read = 0;
  CHECK(files[place.file].build_id == base::ReadFileIdentity(own->get(), read));
  CHECK_FALSE(files[place.file].is_awaited);
  const auto& completed = files.completed();
  CHECK(std::count(completed.begin(), completed.end(), place.file) == 1);
}

TEST_CASE("address spaces: of any number of mappings some MiB are read") {
  CHECK(ReadProcessMaps(getpid()).is_whole);
  const test_support::TempDirectory folder;
  std::string path = folder.path();
  while (path.size() < 3500) {
    path += "/" + std::string(200, 'x');
    std::filesystem::create_directory(path);
  }
  path += "/file";
  std::ofstream(path) << std::string(kPage, 'x');
  const base::ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.is_open());
  // Each page is a mapping of its own, as all have the same place in the file.
  constexpr std::size_t kPages = 2 * kMostMapsBytes / 3500;
  void* const begin = mmap(nullptr, kPages * kPage, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(begin != MAP_FAILED);
  for (std::size_t i = 0; i < kPages; ++i) {
    REQUIRE(mmap(static_cast<char*>(begin) + i * kPage, kPage, PROT_READ,
                 MAP_PRIVATE | MAP_FIXED, file.get(), 0) != MAP_FAILED);
  }
  const ProcessMaps maps = ReadProcessMaps(getpid());
  CHECK_FALSE(maps.is_whole);
  std::size_t bytes = 0;
  for (const ProcessMapping& one : maps.mappings) bytes += one.path.size();
  CHECK(bytes < kMostMapsBytes);
  CHECK(bytes > kMostMapsBytes / 2);
  CodeFiles files;
  AddressSpaces spaces(files);
  spaces.ReadMappings(getpid());
  munmap(begin, kPages * kPage);
  std::vector<std::string> messages;
  spaces.EndIdentities(messages);
  CHECK(std::count_if(messages.begin(), messages.end(), [](const auto& one) {
          return one.find("processes=1") != std::string::npos;
        }) == 1);
}

TEST_CASE("address spaces: a file gets its build id when it is known") {
  CodeFiles files;
  const std::uint32_t first = files.Number({"/lib/a", "?1"});
  const std::uint32_t plain = files.Number({"/lib/a", "ab"});
  CHECK(first != plain);
  CHECK(files[first].build_id == logformat::kNoText);
  CHECK(files[first].is_awaited);
  files.Complete("?1", "ab");
  files.Complete("?2", "cd");  // before it is met
  files.Complete("?3", "");
  CHECK(files[first].build_id == "ab");
  CHECK_FALSE(files[first].is_awaited);
  CHECK(files.Number({"/lib/a", "?1"}) == first);
  CHECK(files[files.Number({"/lib/b", "?2"})].build_id == "cd");
  CHECK(files[files.Number({"/lib/c", "?3"})].build_id == logformat::kNoText);
  CHECK(files.completed() == std::vector<std::uint32_t>{first});
}

TEST_CASE("address spaces: what wraps around is no mapping") {
  CodeFiles files;
  AddressSpaces spaces(files);
  spaces.NewProgram(kFirstPid);
  spaces.Map(kFirstPid, ~std::uint64_t{0} - 5, 10, 0, "/a", "ab");
  spaces.Map(kFirstPid, kPage, 0, 0, "/a", "ab");
  CHECK(files[spaces.Find(kFirstPid, 3).file].path == logformat::kUnknownCode);
  CHECK(files[spaces.Find(kFirstPid, kPage).file].path ==
        logformat::kUnknownCode);
}

}  // namespace
}  // namespace countrace::runtime
