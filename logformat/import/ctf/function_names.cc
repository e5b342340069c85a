#include "logformat/import/ctf/function_names.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/posix/regular_file.h"
#include "base/text/demangled.h"

namespace countrace::importer {

namespace {

struct Symbol {
  std::uint64_t begin, end;
  std::string name;
};

void AddSymbols(Elf* elf, std::vector<Symbol>& symbols) {
  for (const auto& [section, header, of_section] : base::SectionsOf(elf)) {
    if ((header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
        header.sh_entsize == 0) {
      continue;
    }
    Elf_Data* data = elf_getdata(section, nullptr);
    const std::size_t count = header.sh_size / header.sh_entsize;
    for (std::size_t i = 0; data != nullptr && i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) {
        continue;
      }
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') continue;
      symbols.push_back(
          {symbol.st_value,
           symbol.st_value + std::max<std::uint64_t>(1, symbol.st_size), name});
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
}

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

struct FunctionNames::Symbols {
  std::vector<Symbol> symbols;
  std::uint64_t first_address = 0;  // of the lowest segment in the file
};

FunctionNames::FunctionNames() = default;
FunctionNames::~FunctionNames() = default;

void FunctionNames::AddObject(std::int32_t pid, std::uint64_t begin,
                              std::uint64_t bytes, const std::string& path,
                              bool position_independent) {
  Object& object = objects_[{pid, begin}];
  object.end = begin + bytes;
  object.path = path;
  object.position_independent = position_independent;
}

void FunctionNames::SetBuildId(std::int32_t pid, std::uint64_t begin,
                               std::string build_id) {
  const auto at = objects_.find({pid, begin});
  if (at != objects_.end()) at->second.build_id = std::move(build_id);
}

const FunctionNames::Symbols& FunctionNames::SymbolsOf(const Object& object) {
  std::unique_ptr<Symbols>& slot = symbols_[object.path];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Symbols>();
  const base::ScopedFd file =
      open_ ? open_(object.path)
            : base::OpenRegularFile(object.path).value_or(base::ScopedFd());
  if (file.is_open()) {
    const base::ElfHandle elf = base::OpenElf(file.get());
    if (elf != nullptr && (object.build_id.empty() ||
                           base::BuildIdOf(elf.get()) ==
                               absl::BytesToHexString(object.build_id))) {
      std::uint64_t lowest = ~std::uint64_t{0};
      for (const GElf_Phdr& part : base::PartsOf(elf.get())) {
        if (part.p_type == PT_LOAD) {
          lowest = std::min<std::uint64_t>(lowest, part.p_vaddr);
        }
      }
      slot->first_address = lowest == ~std::uint64_t{0} ? 0 : lowest;
      AddSymbols(elf.get(), slot->symbols);
    }
  }
  return *slot;
}

std::string FunctionNames::NameOf(std::int32_t pid, std::uint64_t address) {
  auto at = objects_.upper_bound({pid, address});
  if (at == objects_.begin() || (--at)->first.first != pid ||
      address >= at->second.end) {
    return absl::StrFormat("0x%x", address);
  }
  const Object& object = at->second;
  const Symbols& symbols = SymbolsOf(object);
  const std::uint64_t offset = address - at->first.second;
  const std::uint64_t in_file =
      object.position_independent ? offset + symbols.first_address : address;
  auto symbol = std::upper_bound(
      symbols.symbols.begin(), symbols.symbols.end(), in_file,
      [](std::uint64_t value, const Symbol& s) { return value < s.begin; });
  if (symbol != symbols.symbols.begin() && in_file < (--symbol)->end) {
    return base::Demangled(symbol->name);
  }
  return absl::StrFormat("%s+0x%x", BaseName(object.path), offset);
}

}  // namespace countrace::importer
