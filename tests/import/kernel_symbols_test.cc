// Names of a kernel and its modules that lie elsewhere than they were recorded.
#include "logformat/import/perf/kernel_symbols.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/machine_files.h"

namespace countrace::importer::perf {
namespace {

const std::string kKernelId(40, 'a'), kModuleId(40, 'b'), kOtherId(40, 'c');

std::string Notes(const std::string& build_id) {
  // Another note before it; 4 + 20 bytes, then type 3.
  const std::string other("\4\0\0\0\2\0\0\0\1\0\0\0Xen\0\7\7\0\0", 20);
  const std::string head("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
  return other + head + absl::HexStringToBytes(build_id);
}

base::ScopedFd FileOf(const std::string& text) {
  base::ScopedFd fd(memfd_create("test", MFD_CLOEXEC));
  REQUIRE(write(fd.get(), text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()));
  REQUIRE(lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

class Machine {
 public:
  Machine() {
    says_ = {{"notes", Notes(kKernelId)},
             {"kallsyms",
              "ffffffff90000000 T _text\n"
              "ffffffff90000000 T first\n"
              "ffffffff90001000 t second\n"
              "ffffffff90001000 T second_of_all\n"
              "ffffffff90002000 D data\n"
              "ffffffffc0100000 t in_module\t[nf_nat]\n"
              "ffffffffc0100800 t more\t[nf_nat]\n"
              "ffffffffc0200000 t other\t[ext4]\n"},
             {"module/nf_nat", Notes(kModuleId)},
             {"module/ext4", Notes(kOtherId)},
             {"modules",
              "nf_nat 57344 2 a,b, Live 0xffffffffc0100000\n"
              "ext4 999 0 - Live 0xffffffffc0200000 (E)\n"}};
    files_.kernel = [this](const std::string& what) {
      const auto found = says_.find(what);
      return found == says_.end() ? base::ScopedFd() : FileOf(found->second);
    };
    description_.build_ids["[kernel.kallsyms]"] = kKernelId;
    description_.build_ids["/lib/modules/1/nf-nat.ko.xz"] = kModuleId;
    description_.build_ids["[ext4]"] = kModuleId;  // not the one that is loaded
  }
  std::map<std::string, std::string>& says() { return says_; }
  FileDescription& description() { return description_; }

  KernelSymbols Symbols() const {
    KernelSymbols symbols(description_, files_);
    const auto map = [&](const char* path, std::uint64_t start,
                         std::uint64_t bytes, std::uint64_t offset) {
      MappingRecord mapping;
      mapping.pid = -1;
      mapping.start = start;
      mapping.bytes = bytes;
      mapping.offset = offset;
      mapping.path = path;
      mapping.of_kernel = true;
      symbols.Map(mapping);
    };
    map("[kernel.kallsyms]_text", 0xffffffff81000000, 0x2000,
        0xffffffff81000000);
    map("/lib/modules/1/nf-nat.ko.xz", 0xffffffffc0500000, 0x1000, 0);
    map("[ext4]", 0xffffffffc0600000, 0x1000, 0);
    return symbols;
  }

 private:
  std::map<std::string, std::string> says_;
  FileDescription description_;
  MachineFiles files_;
};

std::string NameAt(KernelSymbols& symbols, std::uint64_t address) {
  const auto symbol = symbols.Find(address);
  if (!symbol) return "";
  CHECK(symbol->begin <= address);
  CHECK(address - symbol->begin < symbol->bytes);
  return symbol->name;
}

TEST_CASE("kernel symbols: functions are found where they were recorded") {
  const Machine machine;
  KernelSymbols symbols = machine.Symbols();
  CHECK(NameAt(symbols, 0xffffffff81000000) == "first");
  CHECK(NameAt(symbols, 0xffffffff81000fff) == "first");
  CHECK(NameAt(symbols, 0xffffffff81001004) == "second_of_all");
  CHECK(NameAt(symbols, 0xffffffff81002000).empty());
  CHECK(NameAt(symbols, 0xffffffff90000000).empty());
  CHECK(NameAt(symbols, 0xffffffffc0500010) == "in_module [nf_nat]");
  CHECK(NameAt(symbols, 0xffffffffc05007ff) == "in_module [nf_nat]");
  CHECK(NameAt(symbols, 0xffffffffc0500800) == "more [nf_nat]");
  CHECK(symbols.why_not().empty());
  // Where the module lies now something else was.
  CHECK(NameAt(symbols, 0xffffffffc0100000).empty());
}

TEST_CASE("kernel symbols: a caller's frame goes on in its own function") {
  const Machine machine;
  KernelSymbols symbols = machine.Symbols();
  // After a call; where an interrupt stopped it; a function that has no name.
  CHECK(symbols.CallerAddress(0xffffffff81000ff0) == 0xffffffff81000fef);
  CHECK(symbols.CallerAddress(0xffffffff81001000) == 0xffffffff81001000);
  CHECK(symbols.CallerAddress(0xffffffffc0500800) == 0xffffffffc0500800);
  CHECK(symbols.CallerAddress(0xffffffff81002000) == 0xffffffff81001fff);
}

TEST_CASE("kernel symbols: a module that is another one now has no names") {
  Machine machine;
  KernelSymbols symbols = machine.Symbols();
  CHECK(NameAt(symbols, 0xffffffffc0600000).empty());
  CHECK(symbols.why_not().find("module ext4") == 0);
  machine.says()["module/ext4"] = Notes(kModuleId);
  KernelSymbols same = machine.Symbols();
  CHECK(NameAt(same, 0xffffffffc0600000) == "other [ext4]");
}

TEST_CASE("kernel symbols: another kernel has those that perf kept") {
  Machine machine;
  machine.says()["notes"] = Notes(kOtherId);
  KernelSymbols none = machine.Symbols();
  CHECK(NameAt(none, 0xffffffff81000000).empty());
  CHECK(none.why_not().find("its build id is " + kKernelId) == 0);
  CHECK(none.why_not().find(kOtherId) != std::string::npos);
  machine.says()["kept/" + kKernelId] = machine.says()["kallsyms"];
  KernelSymbols kept = machine.Symbols();
  CHECK(NameAt(kept, 0xffffffff81000000) == "first");
  // Nothing says where its modules lay when they were kept.
  CHECK(NameAt(kept, 0xffffffffc0500010).empty());
  CHECK(kept.why_not().find("module nf_nat") == 0);
}

TEST_CASE("kernel symbols: where the kernel hides addresses that is said") {
  Machine machine;
  machine.says()["kallsyms"] = "0 T _text\n0 T first\n";
  KernelSymbols symbols = machine.Symbols();
  CHECK(NameAt(symbols, 0xffffffff81000000).empty());
  CHECK(symbols.why_not().find("hides") != std::string::npos);
}

TEST_CASE("kernel symbols: notes that are cut say nothing") {
  Machine machine;
  const std::string notes = Notes(kKernelId);
  for (std::size_t bytes = 0; bytes < notes.size(); ++bytes) {
    machine.says()["notes"] = notes.substr(0, bytes);
    KernelSymbols symbols = machine.Symbols();
    CHECK(NameAt(symbols, 0xffffffff81000000).empty());
  }
}

}  // namespace
}  // namespace countrace::importer::perf
