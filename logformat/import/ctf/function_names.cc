#include "logformat/import/ctf/function_names.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/text/demangled.h"

namespace countrace::importer {

namespace {

struct Symbol {
  std::uint64_t begin, end;
  std::string name;
};

std::string BuildIdOf(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr ||
        header.sh_type != SHT_NOTE) {
      continue;
    }
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    GElf_Nhdr note;
    std::size_t name = 0, value = 0;
    for (std::size_t at = 0;
         (at = gelf_getnote(data, at, &note, &name, &value)) != 0;) {
      const auto* bytes = static_cast<const char*>(data->d_buf);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::string_view(bytes + name, 3) == "GNU") {
        return {bytes + value, note.n_descsz};
      }
    }
  }
  return "";
}

void AddSymbols(Elf* elf, std::vector<Symbol>& symbols) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
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

FunctionNames::FunctionNames() { elf_version(EV_CURRENT); }
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
      open_
          ? open_(object.path)
          : base::ScopedFd(open(object.path.c_str(),
                                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return *slot;
  struct stat status = {};
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    Elf* elf = elf_begin(file.get(), ELF_C_READ_MMAP, nullptr);
    if (elf != nullptr && elf_kind(elf) == ELF_K_ELF &&
        (object.build_id.empty() || BuildIdOf(elf) == object.build_id)) {
      std::size_t headers = 0;
      std::uint64_t lowest = ~std::uint64_t{0};
      if (elf_getphdrnum(elf, &headers) == 0) {
        for (std::size_t i = 0; i < headers; ++i) {
          GElf_Phdr header;
          if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr &&
              header.p_type == PT_LOAD) {
            lowest = std::min<std::uint64_t>(lowest, header.p_vaddr);
          }
        }
      }
      slot->first_address = lowest == ~std::uint64_t{0} ? 0 : lowest;
      AddSymbols(elf, slot->symbols);
    }
    if (elf != nullptr) elf_end(elf);
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
