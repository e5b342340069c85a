#include "runtime/recorder/kernel/hooks/function_symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"

namespace countrace::runtime {
namespace {

struct DwflEnd {
  void operator()(Dwfl* session) const { dwfl_end(session); }
};

std::string Demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

// A symbol without its version if that is the default one: "vfork" of
// "vfork@@GLIBC_2.2.5", as symbol tables of libraries have it. Another version
// ("vfork@V1") is another function of the same name, and keeps it.
std::string WithoutDefaultVersion(const char* symbol) {
  const char* const version = std::strstr(symbol, "@@");
  return version == nullptr ? symbol : std::string(symbol, version);
}

// The file offset of the bytes that are loaded, executable, at `address`.
bool FileOffset(Elf* elf, GElf_Addr address, std::uint64_t& offset) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    if (address >= header.p_vaddr &&
        address - header.p_vaddr < header.p_filesz) {
      offset = address - header.p_vaddr + header.p_offset;
      return true;
    }
  }
  return false;
}

// The linker of Go keeps these sections in stripped programs, too; a program
// that can be loaded anywhere has the first in its relocated data.
bool HasGoTables(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    for (const char* const table :
         {".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid"}) {
      if (std::strcmp(name, table) == 0) return true;
    }
  }
  return false;
}

// The personality routines of languages whose exceptions or panics unwind
// stacks, and what raises them (Itanium C++ ABI: Exception Handling).
constexpr std::string_view kUnwinding[] = {
    "__gxx_personality_v0",   "__cxa_throw",         "__cxa_begin_catch",
    "_Unwind_RaiseException", "rust_eh_personality", "__gnat_personality_v0",
    "__objc_personality_v0",  "__gdc_personality_v0"};
// What switches to another stack: ucontext, Boost.Context, split stacks,
// libcoro.
constexpr std::string_view kSwitching[] = {
    "swapcontext",    "setcontext",  "makecontext",  "jump_fcontext",
    "ontop_fcontext", "__morestack", "coro_transfer"};

bool IsAmong(std::string_view symbol, std::span<const std::string_view> names) {
  symbol = symbol.substr(0, symbol.find('@'));
  return std::find(names.begin(), names.end(), symbol) != names.end();
}

// What in the C library calls functions of its caller, which may throw. Not
// those on whose frames nothing can end an exception: thread starts, `main`'s.
constexpr std::string_view kCallingBack[] = {"qsort",
                                             "qsort_r",
                                             "bsearch",
                                             "lfind",
                                             "lsearch",
                                             "tsearch",
                                             "tfind",
                                             "tdelete",
                                             "twalk",
                                             "twalk_r",
                                             "tdestroy",
                                             "ftw",
                                             "ftw64",
                                             "nftw",
                                             "nftw64",
                                             "fts_open",
                                             "fts64_open",
                                             "fts_read",
                                             "fts64_read",
                                             "scandir",
                                             "scandir64",
                                             "scandirat",
                                             "scandirat64",
                                             "glob",
                                             "glob64",
                                             "argp_parse",
                                             "dl_iterate_phdr",
                                             "pthread_once",
                                             "call_once",
                                             "__pthread_once",
                                             "_dl_catch_exception",
                                             "_dl_catch_error"};

// The name that other files know this one by; empty: none, so a program.
std::string SharedName(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    Elf_Data* data = nullptr;
    if (header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0 ||
        (data = elf_getdata(section, nullptr)) == nullptr) {
      continue;
    }
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, i, &entry) == nullptr) break;
      if (entry.d_tag != DT_SONAME) continue;
      const char* const name =
          elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      return name == nullptr ? "" : name;
    }
  }
  return "";
}

bool IsCLibrary(std::string_view shared_name) {
  for (const std::string_view begin : {"libc.so", "libc.musl", "libpthread.so",
                                       "ld-linux", "ld-musl", "libm.so"}) {
    if (shared_name.starts_with(begin)) return true;
  }
  return false;
}

// Whether a function that may be replaced by another file's is one of its own:
// then a call through the linkage may go anywhere.
bool LinksItself(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    Elf_Data* const names =
        elf_getdata(elf_getscn(elf, header.sh_link), nullptr);
    if (data == nullptr || names == nullptr) continue;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Rela entry;
      GElf_Sym symbol;
      if (gelf_getrela(data, i, &entry) == nullptr) break;
      const auto type = GELF_R_TYPE(entry.r_info);
      const auto number = static_cast<int>(GELF_R_SYM(entry.r_info));
      if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
          number != 0 && gelf_getsym(names, number, &symbol) != nullptr &&
          GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
          symbol.st_shndx != SHN_UNDEF) {
        return true;
      }
    }
  }
  return false;
}

// The sections of stubs through which calls of other files go.
std::vector<CodeRange> Linkage(Elf* elf) {
  std::vector<CodeRange> ranges;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return ranges;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    std::uint64_t offset = 0;
    if (name != nullptr && std::string_view(name).starts_with(".plt") &&
        FileOffset(elf, header.sh_addr, offset)) {
      ranges.push_back({offset, header.sh_size});
    }
  }
  return ranges;
}

// Programs ask for an interpreter, or have fixed addresses. So do libraries
// that can be run: libc.so.6.
bool IsProgram(Elf* elf) {
  GElf_Ehdr file;
  if (gelf_getehdr(elf, &file) == nullptr) return false;
  std::size_t count = 0;
  if (file.e_type == ET_EXEC) return true;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr &&
        header.p_type == PT_INTERP) {
      return true;
    }
  }
  return false;
}

// "handle" of "handle.cold" and "handle.cold.3"; empty: no such part.
std::string_view OwnerOfPart(std::string_view symbol) {
  const std::size_t at = symbol.rfind(".cold");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = symbol.substr(at + 5);
  const bool numbered =
      rest.starts_with('.') && rest.size() > 1 &&
      std::all_of(rest.begin() + 1, rest.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return rest.empty() || numbered ? symbol.substr(0, at) : std::string_view();
}

// Symbol tables list local symbols of one file after the other, so the part of
// a static function whose name several files use is not known for sure: then
// each has all of them.
void GiveParts(const std::multimap<std::string, CodeRange>& parts,
               std::vector<FunctionSymbol>& functions) {
  for (FunctionSymbol& function : functions) {
    const auto [first, last] = parts.equal_range(function.symbol);
    for (auto part = first; part != last; ++part) {
      function.moved.push_back(part->second);
    }
  }
}

}  // namespace

bool CallsBack(std::string_view symbol) {
  return IsAmong(symbol, kCallingBack);
}

absl::StatusOr<ObjectFunctions> ReadFunctionSymbols(const std::string& path) {
  base::ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return base::ErrnoStatus(errno, "Cannot open " + path);
  }
  static const Dwfl_Callbacks kCallbacks = {
      .find_elf = dwfl_build_id_find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
      .section_address = dwfl_offline_section_address,
      .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, DwflEnd> session(dwfl_begin(&kCallbacks));
  Dwfl_Module* module = nullptr;
  if (session != nullptr) {
    // Takes ownership of the descriptor, unless it fails.
    module = dwfl_report_offline(session.get(), path.c_str(), path.c_str(),
                                 file.get());
  }
  if (module == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is no program or library (ELF file): %s", path, dwfl_errmsg(-1)));
  }
  file.Release();
  dwfl_report_end(session.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Cannot read %s: %s", path, dwfl_errmsg(-1)));
  }
  ObjectFunctions result;
  result.is_go = HasGoTables(elf);
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) != nullptr) {
    FileOffset(elf, header.e_entry, result.entry_offset);
  }
  const std::string shared_name = SharedName(elf);
  const bool is_program = shared_name.empty() && IsProgram(elf);
  result.is_library = !is_program;
  result.is_c_library = IsCLibrary(shared_name);
  result.linkage = Linkage(elf);
  result.uses_callbacks = LinksItself(elf);
  std::vector<FunctionSymbol>& functions = result.functions;
  std::multimap<std::string, CodeRange> parts;
  const int symbols = dwfl_module_getsymtab(module);
  for (int i = 1; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* const name = dwfl_module_getsym_info(
        module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0') continue;
    result.unwinds |= IsAmong(name, kUnwinding);
    result.switches_stacks |= is_program && IsAmong(name, kSwitching);
    // Initialization that runs once is a library's own code.
    result.uses_callbacks |= symbol.st_shndx == SHN_UNDEF && CallsBack(name) &&
                             std::strstr(name, "_once") == nullptr;
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    std::uint64_t offset = 0;
    if (!FileOffset(elf, address - bias, offset)) continue;
    std::string linked = WithoutDefaultVersion(name);
    if (const std::string_view owner = OwnerOfPart(linked); !owner.empty()) {
      parts.emplace(owner, CodeRange{offset, symbol.st_size});
      continue;
    }
    std::string written = Demangled(linked.c_str());
    functions.push_back(
        {std::move(linked), std::move(written), offset, symbol.st_size, {}});
  }
  GiveParts(parts, functions);
  std::stable_sort(functions.begin(), functions.end(),
                   [](const FunctionSymbol& a, const FunctionSymbol& b) {
                     return a.offset < b.offset;
                   });
  return result;
}

}  // namespace countrace::runtime
