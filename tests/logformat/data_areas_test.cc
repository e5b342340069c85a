// What memory a data address is of: the mappings of loaders, heaps and stacks
// as kernels report them, and each page against a model.
#include "logformat/data_areas.h"

#include <elf.h>
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "base/posix/temporary_directory.h"
#include "logformat/sample_points.h"
#include "tests/support/property_runs.h"

namespace countrace::logformat {
namespace {

constexpr std::int32_t kPid = 812;
constexpr std::uint64_t kPage = 4096;

// A program that was seen from its exec on: `perf record -d` of a program
// with 1.6 MB of zeros, addresses made short.
DataAreas Loaded() {
  DataAreas areas(nullptr, nullptr);
  areas.NewProgram(kPid);
  areas.Map(kPid, {0x7ff0000000, 0x21000, 0x7fffde000, "[stack]", ""});
  areas.Map(kPid, {0x100000, 0x1f9000, 0, "/w", "ab"});
  areas.Map(kPid, {0x101000, 0x1000, 0x1000, "/w", "ab"});
  areas.Map(kPid, {0x103000, 0x66000, 0x2000, "/w", "ab"});
  areas.Map(kPid, {0x169000, 0x190000, 0x169000, "//anon", ""});
  areas.Map(kPid, {0x103000, 0x1000, 0x2000, "/w", "ab"});
  areas.Map(kPid, {0x500000, 0x21000, 0x500000, "//anon", ""});  // brk
  areas.Map(kPid, {0x40000000000, 0x10000, 0x40000000000, "//anon", ""});
  areas.Map(kPid, {0x50000000000, 0x10000, 0, "/memfd:x (deleted)", ""});
  return areas;
}

DataArea At(DataAreas& areas, std::uint64_t address,
            std::uint64_t stack_pointer = 0, std::int32_t tid = kPid) {
  return areas[areas.Find({kPid, tid, address, stack_pointer})];
}

TEST_CASE("data areas: a program's data, zeros, heap, stack and memory") {
  DataAreas areas = Loaded();
  const DataArea data = At(areas, 0x104010);
  CHECK(data.path == "/w");
  CHECK(data.build_id == "ab");
  CHECK(0x104010 - data.start + data.offset == 0x3010);
  const DataArea zeros = At(areas, 0x169000 + 0x18ffff);
  CHECK(zeros.path == "/w");
  CHECK(0x169000 - zeros.start + zeros.offset == 0x68000);
  CHECK(At(areas, 0x500010).path == kHeapMemory);
  CHECK(At(areas, 0x7ff0000010).path == kStackMemory);
  CHECK(At(areas, 0x7ff0000010).thread == 0);
  const DataArea anonymous = At(areas, 0x40000000123);
  CHECK(anonymous.path == kAnonymousMemory);
  CHECK(anonymous.start == 0x40000000000);
  CHECK(anonymous.bytes == 0x10000);
  CHECK(At(areas, 0x50000000000).path == "/memfd:x (deleted)");
  CHECK(At(areas, 0x60000000000).path == kUnknownCode);
  CHECK(At(areas, 0xffffffff81000000).path == kKernelCode);
  CHECK(areas.Find({kPid, kPid, 0, 0}) == 0);
  // A process of which nothing is known.
  CHECK(areas[areas.Find({7, 7, 0x104010, 0})].path == kUnknownCode);
}

TEST_CASE("data areas: a heap keeps its name when it grows") {
  DataAreas areas = Loaded();
  areas.Map(kPid, {0x500000, 0x42000, 0x500000, "[heap]", ""});
  CHECK(At(areas, 0x500010).path == kHeapMemory);
  CHECK(At(areas, 0x541fff).path == kHeapMemory);
  CHECK(At(areas, 0x542000).path == kUnknownCode);
}

TEST_CASE("data areas: a stack is that of the thread that runs on it") {
  DataAreas areas = Loaded();
  const std::uint64_t pointer = 0x40000008000;
  CHECK(At(areas, pointer + 8).path == kAnonymousMemory);
  const DataArea own = At(areas, pointer + 8, pointer, 900);
  CHECK(own.path == kStackMemory);
  CHECK(own.thread == 900);
  // Another thread's access to it.
  CHECK(At(areas, pointer + 8, 0x7ff0000800).thread == 900);
  // The next thread has the same mapping.
  CHECK(At(areas, pointer + 8, pointer, 901).thread == 901);
  // A heap is no stack, whichever thread runs on it.
  CHECK(At(areas, 0x500010, 0x500020, 902).path == kHeapMemory);
  // Threads that take turns need no more areas than there are threads.
  const std::uint32_t first = areas.Find({kPid, 900, pointer, pointer});
  areas.Find({kPid, 901, pointer, pointer});
  CHECK(areas.Find({kPid, 900, pointer, pointer}) == first);
}

TEST_CASE("data areas: a stack grows by the fault that is sampled") {
  DataAreas areas = Loaded();
  const std::uint64_t below = 0x7ff0000000 - 3 * kPage;
  CHECK(At(areas, below, below + 64).path == kStackMemory);
  CHECK(At(areas, below).path == kStackMemory);
  // Far below its pointer no stack is in use.
  CHECK(At(areas, below - 0x20000, below).path == kUnknownCode);
}

TEST_CASE("data areas: a new program has none of the old one's memory") {
  DataAreas areas = Loaded();
  areas.NewProgram(kPid);
  CHECK(At(areas, 0x104010).path == kUnknownCode);
}

TEST_CASE("data areas: a forked process's memory is its own from then on") {
  DataAreas areas = Loaded();
  areas.Fork(kPid, 900);
  areas.Map(900, {0x104000, kPage, 0, "/other", ""});
  CHECK(areas[areas.Find({900, 900, 0x104010, 0})].path == "/other");
  CHECK(At(areas, 0x104010).path == "/w");
  areas.End(900);
  CHECK(areas[areas.Find({900, 900, 0x104010, 0})].path == kUnknownCode);
}

// A program file: code of one page, then data of 0x1234 bytes and zeros.
std::string ProgramFile(const std::string& folder, std::uint64_t zeros) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  const std::uint16_t probe = 1;
  head.e_ident[EI_DATA] =
      *reinterpret_cast<const char*>(&probe) == 1 ? ELFDATA2LSB : ELFDATA2MSB;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 2;
  head.e_phoff = sizeof(head);
  Elf64_Phdr parts[2]{};
  parts[0].p_type = parts[1].p_type = PT_LOAD;
  parts[0].p_filesz = parts[0].p_memsz = kPage;
  parts[1].p_offset = kPage + 0x100;
  parts[1].p_filesz = 0x1234;
  parts[1].p_memsz = 0x1234 + zeros;
  const std::string path = folder + "/program";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&head), sizeof(head));
  file.write(reinterpret_cast<const char*>(parts), sizeof(parts));
  return path;
}

TEST_CASE("data areas: zeros of a program that ran before are in its file") {
  const auto folder = base::TemporaryDirectory::Create("areas");
  REQUIRE(folder.ok());
  const std::string program = ProgramFile((*folder)->path(), 0x3000);
  // As in /proc/PID/maps: zeros and heap are one mapping without a gap.
  std::vector<DataMapping> maps = {
      {0x100000, 0x1000, 0, "/w", ""},
      {0x101000, 0x2000, 0x1000, "/w", ""},
      {0x103000, 0x21000, 0, "[heap]", ""},
  };
  int looks = 0;
  DataAreas areas(
      [&](std::int32_t) {
        ++looks;
        return maps;
      },
      [&](std::int32_t, const std::string&) {
        const base::ScopedFd fd(open(program.c_str(), O_RDONLY | O_CLOEXEC));
        return ReadImageParts(fd.get());
      });
  CHECK(At(areas, 0x101200).path == "/w");
  // Data and zeros end at offset 0x1100 + 0x1234 + 0x3000 = 0x5334.
  const DataArea zeros = At(areas, 0x105333);
  CHECK(zeros.path == "/w");
  CHECK(zeros.offset == 0x3000);
  CHECK(At(areas, 0x105334).path == kHeapMemory);
  CHECK(looks == 1);
  // A mapping that was moved has no record: it is looked for, ever less often.
  maps.push_back({0x90000000000, kPage, 0, "", ""});
  CHECK(At(areas, 0x90000000010).path == kAnonymousMemory);
  CHECK(looks == 2);
  for (int i = 0; i < 1000; ++i) {
    CHECK(At(areas, 0xa0000000000).path == kUnknownCode);
  }
  CHECK(looks < 15);
}

TEST_CASE("data areas: each page is of what was mapped last") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(200u); ++seed) {
    std::mt19937 random(seed);
    DataAreas areas(nullptr, nullptr);
    using Model =
        std::map<std::uint64_t, std::pair<std::string, std::uint64_t>>;
    std::map<std::int32_t, Model> models;
    for (int step = 0; step < 200; ++step) {
      const auto pid = static_cast<std::int32_t>(1 + random() % 4);
      switch (random() % 8) {
        case 0:
          areas.NewProgram(pid);
          models[pid].clear();
          break;
        case 1: {
          const auto child = static_cast<std::int32_t>(1 + random() % 4);
          if (child == pid) break;
          areas.Fork(pid, child);
          models[child] = models[pid];
          break;
        }
        default: {
          const std::uint64_t page = 1 + random() % 64;
          const std::uint64_t pages = 1 + random() % 16;
          const std::uint64_t offset = random() % 100 * kPage;
          const std::string path = "/lib/" + std::to_string(random() % 5);
          areas.Map(pid, {page * kPage, pages * kPage, offset, path, "ab"});
          for (std::uint64_t i = 0; i < pages; ++i) {
            models[pid][page + i] = {path, offset + i * kPage};
          }
        }
      }
      const std::uint64_t page = 1 + random() % 80;
      const std::uint64_t address = page * kPage + random() % kPage;
      const DataArea& area = areas[areas.Find({pid, pid, address, 0})];
      const auto known = models[pid].find(page);
      if (known == models[pid].end()) {
        REQUIRE(area.path == kUnknownCode);
        continue;
      }
      REQUIRE(area.path == known->second.first);
      REQUIRE(address - area.start + area.offset ==
              known->second.second + address % kPage);
      REQUIRE(address - area.start < area.bytes);
    }
  }
}

}  // namespace
}  // namespace countrace::logformat
