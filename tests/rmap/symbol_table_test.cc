// The search for symbols against libdwfl's, which looks at all of them.
#include "rmap/code/symbol_table.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace countrace::rmap {
namespace {

// The path of a library that this program has mapped; empty: none.
std::string MappedFile(const std::string& part) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(
      std::fopen("/proc/self/maps", "re"), std::fclose);
  char line[4096];
  while (maps && std::fgets(line, sizeof(line), maps.get()) != nullptr) {
    std::string text(line);
    const std::size_t path = text.find('/');
    if (path == std::string::npos || text.find(part) == std::string::npos) {
      continue;
    }
    return text.substr(path, text.find('\n') - path);
  }
  return "";
}

struct DwflEnd {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

void CompareAll(const std::string& path) {
  CAPTURE(path);
  char* debug_path = nullptr;
  Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_build_id_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  callbacks.debuginfo_path = &debug_path;
  const std::unique_ptr<Dwfl, DwflEnd> dwfl(dwfl_begin(&callbacks));
  Dwfl_Module* const module =
      dwfl_report_offline(dwfl.get(), path.c_str(), path.c_str(),
                          open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(module != nullptr);
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  const SymbolTable table(module);

  // Where the answer may change: where symbols and sections begin and end.
  std::set<GElf_Addr> places, labels;
  const int all = dwfl_module_getsymtab(module);
  REQUIRE(all > 100);
  for (int i = 1; i < all; ++i) {
    GElf_Sym symbol;
    GElf_Addr value = 0;
    if (dwfl_module_getsym_info(module, i, &symbol, &value, nullptr, nullptr,
                                nullptr) == nullptr) {
      continue;
    }
    auto& kind = symbol.st_size == 0 ? labels : places;
    for (const GElf_Addr at : {value, value + symbol.st_size}) {
      kind.insert({at - 1, at, at + 1});
    }
  }
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  for (Elf_Scn* section = nullptr;
       (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(section, &header) != nullptr);
    const GElf_Addr at = header.sh_addr + bias;
    places.insert({at, at + header.sh_size - 1, at + header.sh_size});
  }
  // Some of very many: each costs a look at every symbol.
  std::vector<GElf_Addr> some;
  std::mt19937_64 random(20261126);
  std::sample(places.begin(), places.end(), std::back_inserter(some), 4000,
              random);
  std::sample(labels.begin(), labels.end(), std::back_inserter(some), 2000,
              random);
  std::size_t found_some = 0;
  for (const GElf_Addr address : some) {
    GElf_Off into = 0;
    GElf_Sym symbol;
    const char* const name = dwfl_module_addrinfo(
        module, address, &into, &symbol, nullptr, nullptr, nullptr);
    const auto found = table.At(address);
    CAPTURE(address, name == nullptr ? "none" : name);
    REQUIRE(found.has_value() == (name != nullptr));
    if (!found) continue;
    ++found_some;
    REQUIRE(found->name == name);
    REQUIRE(found->into == into);
    REQUIRE(found->bytes == symbol.st_size);
  }
  CHECK(found_some > 100);
}

TEST_CASE("symbol_table: it finds what libdwfl finds, at every kind of edge",
          "[rmap][samples]") {
  CompareAll("/proc/self/exe");
  for (const char* library : {"/libc.so", "/libstdc++.so", "/ld-linux"}) {
    const std::string path = MappedFile(library);
    if (!path.empty()) CompareAll(path);
  }
}

}  // namespace
}  // namespace countrace::rmap
