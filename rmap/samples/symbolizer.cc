#include "rmap/samples/symbolizer.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/code/kept_files.h"
#include "base/posix/scoped_fd.h"
#include "base/text/demangled.h"
#include "base/text/name_escape.h"
#include "rmap/samples/source_frames.h"
#include "rmap/samples/symbol_table.h"

namespace countrace::rmap {
namespace {

// A regular file; of a leased one at once or not at all. Its name comes from a
// trace, which may be anyone's.
int OpenCode(const std::string& path, std::string& why) {
  base::ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) {
    why = std::strerror(errno);
    return -1;
  }
  struct stat status;
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "it is no regular file";
    return -1;
  }
  return fd.Release();
}

// A file that is readable, and no program: what it holds has no symbols.
bool IsOtherFile(const std::string& path) {
  std::string why;
  const base::ScopedFd fd(OpenCode(path, why));
  std::array<char, SELFMAG> magic{};
  return fd.is_open() &&
         (pread(fd.get(), magic.data(), SELFMAG, 0) != SELFMAG ||
          std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0);
}

}  // namespace

struct Symbolizer::OpenFile {
  std::string path;
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  GElf_Addr bias = 0;
  std::optional<SourceFrames> source;
  std::optional<SymbolTable> symbols;
  // Loaded parts: file offset, bytes, address in the file's own terms.
  struct Part {
    std::uint64_t offset, bytes, address;
    bool is_code;
  };
  std::vector<Part> parts;

  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  bool ReportPath(const std::string& where, const std::string& build_id,
                  std::string& why);
  bool ReportBuildId(const CodeFile& code);
  bool Read(const CodeFile& code, std::string& why);
  // In the file's own terms, without `bias`.
  std::optional<std::uint64_t> AddressOf(std::uint64_t offset) const {
    const Part* const part = PartOf(offset);
    if (part == nullptr) return std::nullopt;
    return part->address + (offset - part->offset);
  }
  // Null: none has it.
  const Part* PartOf(std::uint64_t offset) const {
    for (const Part& part : parts) {
      if (offset - part.offset < part.bytes && offset >= part.offset) {
        return &part;
      }
    }
    return nullptr;
  }
};

struct Symbolizer::Impl {
  char* debug_path = nullptr;  // the system's
  Dwfl_Callbacks callbacks{};
  std::map<std::pair<std::string, std::string>, std::unique_ptr<OpenFile>>
      files;
  std::map<std::string, bool> is_other;  // by path: IsOtherFile()
  // What NamesOf() said last.
  CodeFile last_file;
  std::uint64_t last_offset = 0;
  std::vector<CodeName> last_names;
};

Symbolizer::Symbolizer() : impl_(std::make_unique<Impl>()) {
  impl_->callbacks.find_elf = dwfl_build_id_find_elf;
  impl_->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  impl_->callbacks.section_address = dwfl_offline_section_address;
  impl_->callbacks.debuginfo_path = &impl_->debug_path;
}

Symbolizer::~Symbolizer() = default;

namespace {

// As libdwfl reports it: hexadecimal; empty: the file has none.
std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* id = nullptr;
  GElf_Addr at = 0;
  const int bytes = dwfl_module_build_id(module, &id, &at);
  if (bytes <= 0) return "";
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(id), static_cast<std::size_t>(bytes)));
}

}  // namespace

// The module of the file at `path`. False: `why` has the reason.
bool Symbolizer::OpenFile::ReportPath(const std::string& where,
                                      const std::string& build_id,
                                      std::string& why) {
  const int fd = OpenCode(where, why);
  if (fd < 0) return false;
  struct stat status;
  if (base::IsFileVersion(build_id) && fstat(fd, &status) == 0 &&
      base::FileVersion(status) != build_id) {
    close(fd);
    why = absl::StrFormat("it is another file: %s, recorded was %s",
                          base::FileVersion(status), build_id);
    return false;
  }
  module = dwfl_report_offline(dwfl, where.c_str(), where.c_str(),
                               fd);  // takes the descriptor
  if (module == nullptr) {
    close(fd);
    why = dwfl_errmsg(-1);
    return false;
  }
  return true;
}

// The module of a file that libdwfl looks for by its build id: where
// DEBUGINFOD_URLS says, too.
bool Symbolizer::OpenFile::ReportBuildId(const CodeFile& code) {
  const bool is_build_id = !base::DebugFile(code.build_id).empty();
  if (!is_build_id || code.build_id.size() % 2 != 0) return false;
  const std::string id = absl::HexStringToBytes(code.build_id);
  constexpr GElf_Addr kBegin = 0, kEnd = GElf_Addr{1} << 40;
  module = dwfl_report_module(dwfl, code.path.c_str(), kBegin, kEnd);
  return module != nullptr &&
         dwfl_module_report_build_id(
             module, reinterpret_cast<const unsigned char*>(id.data()),
             id.size(), 0) == 0;
}

// Reads what was reported. False: `why` has the reason.
bool Symbolizer::OpenFile::Read(const CodeFile& code, std::string& why) {
  dwfl_report_end(dwfl, nullptr, nullptr);
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) {
    why = dwfl_errmsg(-1);
    return false;
  }
  const std::string build_id = BuildIdOf(module);
  // The kernel shows 20 bytes of a longer one.
  if (!code.build_id.empty() && !base::IsFileVersion(code.build_id) &&
      !build_id.starts_with(code.build_id)) {
    why =
        absl::StrFormat("its build id is %s, recorded was %s",
                        build_id.empty() ? "absent" : build_id, code.build_id);
    return false;
  }
  std::size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf, static_cast<int>(i), &part) == nullptr ||
        part.p_type != PT_LOAD) {
      continue;
    }
    // A file of symbols alone (objcopy --only-keep-debug) has addresses, and
    // not the places of the program's file that they are of.
    if (part.p_filesz == 0 && part.p_memsz != 0 && (part.p_flags & PF_X) != 0) {
      why = "it has symbols, but no code";
      return false;
    }
    parts.push_back({part.p_offset, part.p_memsz, part.p_vaddr,
                     (part.p_flags & PF_X) != 0});
  }
  const char* found = nullptr;  // the path that was opened
  dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &found,
                   nullptr);
  path = found != nullptr ? found : code.path;
  source.emplace(module);
  symbols.emplace(module);
  return true;
}

Symbolizer::OpenFile* Symbolizer::Open(const CodeFile& code) {
  const auto [found, added] =
      impl_->files.try_emplace({code.path, code.build_id});
  std::unique_ptr<OpenFile>& slot = found->second;
  if (!added) return slot.get();
  std::string why;
  // Empty: by build id.
  const auto take = [&](const std::string& path) {
    auto file = std::make_unique<OpenFile>();
    file->dwfl = dwfl_begin(&impl_->callbacks);
    if (file->dwfl == nullptr) {
      why = dwfl_errmsg(-1);
      return false;
    }
    const bool reported = path.empty()
                              ? file->ReportBuildId(code)
                              : file->ReportPath(path, code.build_id, why);
    if (!reported || !file->Read(code, why)) return false;
    slot = std::move(file);
    return true;
  };
  if (take(code.path)) return slot.get();
  const std::string first = why;
  for (const std::string& kept :
       {base::DebugFile(code.build_id), base::KeptFile(code.build_id, "elf")}) {
    if (!kept.empty() && take(kept)) return slot.get();
  }
  if (take("")) return slot.get();
  messages_.push_back(
      absl::StrFormat("%s has no names here, its addresses are [stripped]: %s",
                      base::EscapeName(code.path), first));
  return nullptr;
}

namespace {

// The symbol whose code is at an address. Absent: none covers it.
std::optional<FoundSymbol> FindSymbol(const SymbolTable& symbols,
                                      GElf_Addr address) {
  auto found = symbols.At(address);
  // Assembly may have symbols without a size.
  if (!found || (found->bytes != 0 && found->into >= found->bytes)) {
    return std::nullopt;
  }
  // "clock_gettime@@GLIBC_2.17" is clock_gettime.
  found->name.resize(std::min(found->name.size(), found->name.find('@')));
  return found;
}

}  // namespace

std::vector<CodeName> Symbolizer::NamesIn(OpenFile& file,
                                          std::uint64_t address) {
  const GElf_Addr there = file.bias + address;
  std::vector<CodeName> names;
  for (SourceFrame& frame : file.source->Of(there)) {
    names.push_back({base::Demangled(frame.function), /*inlined=*/true,
                     std::move(frame.file), frame.line});
  }
  if (names.empty()) names.emplace_back();
  CodeName& last = names.back();
  last.inlined = false;
  if (const auto symbol = FindSymbol(*file.symbols, there)) {
    last.function = base::Demangled(symbol->name);
  }
  return names;
}

std::vector<CodeName> Symbolizer::NamesOf(const CodeFile& code,
                                          std::uint64_t offset) {
  if (!impl_->last_names.empty() && offset == impl_->last_offset &&
      code.path == impl_->last_file.path &&
      code.build_id == impl_->last_file.build_id) {
    return impl_->last_names;
  }
  const auto address = AddressOf(code, offset);
  if (!address) return {{}};
  impl_->last_file = code;
  impl_->last_offset = offset;
  impl_->last_names = NamesIn(*Open(code), *address);
  return impl_->last_names;
}

std::vector<CodeName> Symbolizer::NamesAt(const CodeFile& code,
                                          std::uint64_t address) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return {{}};
  return NamesIn(*file, address);
}

std::optional<std::uint64_t> Symbolizer::AddressOf(const CodeFile& code,
                                                   std::uint64_t offset) {
  const OpenFile* const file = Open(code);
  return file == nullptr ? std::nullopt : file->AddressOf(offset);
}

DataObject Symbolizer::ObjectAt(const CodeFile& code, std::uint64_t offset) {
  using Kind = DataObject::Kind;
  const auto [known, added] = impl_->is_other.try_emplace(code.path, false);
  if (added) known->second = IsOtherFile(code.path);
  if (known->second) return {Kind::kNotProgram};
  const OpenFile* const file = Open(code);
  if (file == nullptr) return {Kind::kNoSymbol};
  const OpenFile::Part* const part = file->PartOf(offset);
  if (part == nullptr) return {Kind::kNoSymbol};
  const auto symbol = FindSymbol(
      *file->symbols, file->bias + part->address + (offset - part->offset));
  if (symbol && symbol->bytes != 0 && !symbol->is_function) {
    return {Kind::kObject, base::Demangled(symbol->name)};
  }
  return {part->is_code ? Kind::kCode : Kind::kNoSymbol};
}

std::optional<CodeRange> Symbolizer::RangeOf(const CodeFile& code,
                                             std::uint64_t address) {
  const OpenFile* const file = Open(code);
  if (file == nullptr) return std::nullopt;
  const auto symbol = FindSymbol(*file->symbols, file->bias + address);
  if (!symbol) return std::nullopt;
  const std::uint64_t begin = address - symbol->into;
  // A symbol without a size has at least the code at this address.
  return CodeRange{file->path, begin,
                   std::max(begin + symbol->bytes, address + 1)};
}

}  // namespace countrace::rmap
