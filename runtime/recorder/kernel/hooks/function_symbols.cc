#include "runtime/recorder/kernel/hooks/function_symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/posix/regular_file.h"

namespace countrace::runtime {
namespace {

// Parts of all functions of a file.
constexpr std::size_t kMostMoved = 1'000'000;

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
bool FileOffset(const std::vector<GElf_Phdr>& parts, GElf_Addr address,
                std::uint64_t& offset) {
  for (const GElf_Phdr& header : parts) {
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
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    for (const char* const table :
         {".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid"}) {
      if (std::strcmp(section.name, table) == 0) return true;
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
// Functions in C with -fexceptions, whose cleanup the end of a thread runs. All
// programs that are linked statically have its routine, of the C library.
constexpr std::string_view kCleaning[] = {"__gcc_personality_v0"};
constexpr std::string_view kEndingThreads[] = {"pthread_exit", "pthread_cancel",
                                               "thrd_exit"};
// What switches to another stack: ucontext, Boost.Context, split stacks,
// libcoro.
constexpr std::string_view kSwitching[] = {
    "swapcontext",    "setcontext",  "makecontext",  "jump_fcontext",
    "ontop_fcontext", "__morestack", "coro_transfer"};

bool IsAmong(std::string_view symbol, std::span<const std::string_view> names) {
  symbol = symbol.substr(0, symbol.find('@'));
  return std::find(names.begin(), names.end(), symbol) != names.end();
}

// The name that other files know this one by; empty: none, so a program.
std::string SharedName(Elf* elf) {
  for (const base::ElfSection& section : base::SectionsOf(elf)) {
    const GElf_Shdr& header = section.header;
    Elf_Data* data = nullptr;
    if (header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0 ||
        (data = elf_getdata(section.handle, nullptr)) == nullptr) {
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

// Programs ask for an interpreter, or have fixed addresses. So do libraries
// that can be run: libc.so.6.
bool IsProgram(Elf* elf) {
  GElf_Ehdr file;
  if (gelf_getehdr(elf, &file) == nullptr) return false;
  const std::vector<GElf_Phdr> parts = base::PartsOf(elf);
  return file.e_type == ET_EXEC ||
         std::any_of(parts.begin(), parts.end(), [](const GElf_Phdr& part) {
           return part.p_type == PT_INTERP;
         });
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
  // A file may have as many functions of a name as parts.
  std::size_t room = kMostMoved;
  for (FunctionSymbol& function : functions) {
    const auto [first, last] = parts.equal_range(function.symbol);
    for (auto part = first; part != last && room != 0; ++part, --room) {
      function.moved.push_back(part->second);
    }
  }
}

// `session`: owns the module.
absl::StatusOr<Dwfl_Module*> OpenModule(
    const std::string& path, std::unique_ptr<Dwfl, DwflEnd>& session) {
  auto file = base::OpenNamedFile(path);
  if (!file.ok()) return file.status();
  if (!base::HasFewSections(file->get())) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is no program or library: it has more than 65279 sections", path));
  }
  static const Dwfl_Callbacks kCallbacks = {
      .find_elf = dwfl_build_id_find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
      .section_address = dwfl_offline_section_address,
      .debuginfo_path = nullptr};
  session.reset(dwfl_begin(&kCallbacks));
  Dwfl_Module* module = nullptr;
  if (session != nullptr) {
    // Takes ownership of the descriptor, unless it fails.
    module = dwfl_report_offline(session.get(), path.c_str(), path.c_str(),
                                 file->get());
  }
  if (module == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is no program or library (ELF file): %s", path, dwfl_errmsg(-1)));
  }
  file->Release();
  dwfl_report_end(session.get(), nullptr, nullptr);
  return module;
}

}  // namespace

absl::StatusOr<ObjectFunctions> ReadFunctionSymbols(const std::string& path) {
  std::unique_ptr<Dwfl, DwflEnd> session;
  const auto opened = OpenModule(path, session);
  if (!opened.ok()) return opened.status();
  Dwfl_Module* const module = *opened;
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Cannot read %s: %s", path, dwfl_errmsg(-1)));
  }
  ObjectFunctions result;
  result.is_go = HasGoTables(elf);
  const std::vector<GElf_Phdr> loaded = base::PartsOf(elf);
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) != nullptr) {
    FileOffset(loaded, header.e_entry, result.entry_offset);
  }
  const std::string shared_name = SharedName(elf);
  const bool is_program = shared_name.empty() && IsProgram(elf);
  result.is_library = !is_program;
  result.is_c_library = IsCLibrary(shared_name);
  result.linkage = ReadLinkage(elf);
  std::vector<FunctionSymbol>& functions = result.functions;
  std::multimap<std::string, CodeRange> parts;
  bool cleans = false, ends_threads = false;
  const int symbols = dwfl_module_getsymtab(module);
  for (int i = 1; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* const name = dwfl_module_getsym_info(
        module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0') continue;
    const bool is_of_others = symbol.st_shndx == SHN_UNDEF;
    result.unwinds |=
        IsAmong(name, kUnwinding) || (is_of_others && IsAmong(name, kCleaning));
    cleans |= IsAmong(name, kCleaning);
    ends_threads |= IsAmong(name, kEndingThreads);
    result.switches_stacks |= is_program && IsAmong(name, kSwitching);
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (is_of_others) continue;
    std::uint64_t offset = 0;
    if (!FileOffset(loaded, address - bias, offset)) continue;
    std::string linked = WithoutDefaultVersion(name);
    if (linked.empty()) continue;  // "@@V_1"
    if (const std::string_view owner = OwnerOfPart(linked); !owner.empty()) {
      parts.emplace(owner, CodeRange{offset, symbol.st_size});
      continue;
    }
    std::string written = Demangled(linked.c_str());
    functions.push_back(
        {std::move(linked), std::move(written), offset, symbol.st_size, {}});
  }
  result.unwinds |= cleans && ends_threads && !result.is_c_library;
  GiveParts(parts, functions);
  std::stable_sort(functions.begin(), functions.end(),
                   [](const FunctionSymbol& a, const FunctionSymbol& b) {
                     return a.offset < b.offset;
                   });
  return result;
}

}  // namespace countrace::runtime
