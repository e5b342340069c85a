#include "rmap/code/code_image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/text/demangled.h"
#include "rmap/code/disassembly.h"

namespace countrace::rmap {
namespace {

using base::ScopedFd;

// A function of a hostile file can have its whole text section.
constexpr std::uint64_t kMostCode = std::uint64_t{16} << 20;

std::string HexOf(const void* id, std::ptrdiff_t bytes) {
  if (bytes <= 0) return "";
  return absl::BytesToHexString(absl::string_view(
      static_cast<const char*>(id), static_cast<std::size_t>(bytes)));
}

std::string BuildIdOf(int file) {
  return base::BuildIdOf(base::OpenElf(file).get());
}

// As .gnu_debuglink has it.
std::uint32_t ChecksumOf(int file) {
  uLong sum = crc32(0, nullptr, 0);
  std::vector<unsigned char> block(std::size_t{1} << 16);
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, block.data(), block.size(), at);
    if (got <= 0) return static_cast<std::uint32_t>(sum);
    sum = crc32(sum, block.data(), static_cast<uInt>(got));
    at += got;
  }
}

std::string Cut(std::string name) {
  if (name.size() > kLongestName) name.replace(kLongestName, name.npos, "...");
  return name;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CodeImage>> CodeImage::Open(ScopedFd file,
                                                           FindDebugFile find) {
  std::unique_ptr<CodeImage> image(new CodeImage);
  image->find_ = std::move(find);
  image->callbacks_.find_elf = dwfl_build_id_find_elf;  // not called
  image->callbacks_.find_debuginfo = FindDebugInfo;
  image->callbacks_.section_address = dwfl_offline_section_address;
  image->dwfl_ = dwfl_begin(&image->callbacks_);
  if (image->dwfl_ == nullptr) return absl::UnavailableError(dwfl_errmsg(-1));
  image->module_ =
      dwfl_report_offline(image->dwfl_, "code", "code", file.get());
  if (image->module_ == nullptr) {
    return absl::UnavailableError(dwfl_errmsg(-1));
  }
  file.Release();  // libdwfl has it
  if (absl::Status read = image->Read(); !read.ok()) return read;
  return image;
}

CodeImage::~CodeImage() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
  if (shared_ != nullptr) dwarf_end(shared_);
}

absl::Status CodeImage::Read() {
  dwfl_report_end(dwfl_, nullptr, nullptr);
  void** user = nullptr;
  dwfl_module_info(module_, &user, nullptr, nullptr, nullptr, nullptr, nullptr,
                   nullptr);
  *user = this;
  elf_ = dwfl_module_getelf(module_, &bias_);
  if (elf_ == nullptr) return absl::UnavailableError(dwfl_errmsg(-1));
  GElf_Ehdr header;
  if (gelf_getehdr(elf_, &header) == nullptr) {
    return absl::UnavailableError(elf_errmsg(-1));
  }
  machine_ = header.e_machine;
  opened_.build_id = base::BuildIdOf(elf_);
  for (const GElf_Phdr& part : base::PartsOf(elf_)) {
    if (part.p_type != PT_LOAD) continue;
    // A file of symbols alone (objcopy --only-keep-debug) has addresses, and
    // not the places of the program's file that they are of.
    if (part.p_filesz == 0 && part.p_memsz != 0 && (part.p_flags & PF_X) != 0) {
      return absl::UnavailableError("it has symbols, but no code");
    }
    opened_.parts.push_back({part.p_offset, part.p_memsz, part.p_vaddr,
                             (part.p_flags & PF_X) != 0});
  }
  ReadSharedDebug();
  source_.emplace(module_);
  symbols_.emplace(module_);
  return absl::OkStatus();
}

int CodeImage::FindDebugInfo(Dwfl_Module*, void** user, const char*, Dwarf_Addr,
                             const char*, const char* link, GElf_Word crc,
                             char** found) {
  if (*user == nullptr) return -1;
  auto& image = *static_cast<CodeImage*>(*user);
  const std::string& id = image.opened_.build_id;
  ScopedFd file =
      image.Find({.name = link == nullptr ? "" : link, .build_id = id},
                 [&](int candidate) {
                   return id.empty() ? ChecksumOf(candidate) == crc
                                     : BuildIdOf(candidate) == id;
                 });
  if (file.is_open()) *found = strdup("debug");
  return file.Release();
}

ScopedFd CodeImage::Find(DebugFileQuestion question,
                         const std::function<bool(int file)>& is_right) {
  for (;; ++question.number) {
    ScopedFd file = find_(question);
    if (!file.is_open() || is_right(file.get())) return file;
  }
}

// Before libdw needs it, which would look for it itself.
void CodeImage::ReadSharedDebug() {
  Dwarf_Addr bias = 0;
  Dwarf* const dwarf = dwfl_module_getdwarf(module_, &bias);
  const char* name = nullptr;
  const void* bytes = nullptr;
  const ssize_t size =
      dwarf == nullptr ? 0 : dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);
  if (size <= 0) return;
  const std::string id = HexOf(bytes, size);
  shared_file_ = Find({.name = name, .build_id = id, .is_shared = true},
                      [&](int file) { return BuildIdOf(file) == id; });
  if (!shared_file_.is_open()) return;
  shared_ = dwarf_begin(shared_file_.get(), DWARF_C_READ);
  if (shared_ != nullptr) dwarf_setalt(dwarf, shared_);
}

const std::string& CodeImage::NameOf(const std::string& symbol) {
  const auto [found, added] = demangled_.try_emplace(symbol);
  if (added) found->second = Cut(base::Demangled(symbol));
  return found->second;
}

FoundSymbol CodeImage::SymbolAt(std::uint64_t address) {
  auto found = symbols_->At(bias_ + address);
  // Assembly may have symbols without a size.
  if (!found || (found->bytes != 0 && found->into >= found->bytes)) return {};
  // "clock_gettime@@GLIBC_2.17" is clock_gettime.
  found->name = NameOf(found->name.substr(0, found->name.find('@')));
  return *std::move(found);
}

NamedAddresses CodeImage::NamesOf(const std::vector<std::uint64_t>& addresses) {
  NamedAddresses names;
  std::unordered_map<std::string, std::uint32_t> numbers = {{"", 0}};
  names.texts = {""};
  const auto number_of = [&](std::string text) {
    const auto [found, added] = numbers.try_emplace(
        std::move(text), static_cast<std::uint32_t>(names.texts.size()));
    if (added) names.texts.push_back(found->first);
    return found->second;
  };
  for (const std::uint64_t address : addresses) {
    NamedAddress& named = names.addresses.emplace_back();
    for (SourceFrame& frame : source_->Of(bias_ + address)) {
      named.frames.push_back({number_of(NameOf(frame.function)),
                              number_of(Cut(std::move(frame.file))), frame.line,
                              /*inlined=*/true});
    }
    if (named.frames.empty()) named.frames.emplace_back();
    named.frames.back().inlined = false;
    FoundSymbol symbol = SymbolAt(address);
    if (symbol.name.empty()) continue;
    named.frames.back().function = number_of(std::move(symbol.name));
    named.has_symbol = true;
    named.is_function = symbol.is_function;
    named.into = symbol.into;
    named.bytes = symbol.bytes;
  }
  return names;
}

absl::StatusOr<std::span<const unsigned char>> CodeImage::CodeAt(
    std::uint64_t begin, std::uint64_t most) {
  for (const GElf_Phdr& part : base::PartsOf(elf_)) {
    if (part.p_type != PT_LOAD || begin < part.p_vaddr ||
        begin - part.p_vaddr >= part.p_filesz) {
      continue;
    }
    const std::uint64_t into = begin - part.p_vaddr;
    Elf_Data* const data = elf_getdata_rawchunk(
        elf_, static_cast<std::int64_t>(part.p_offset + into),
        std::min(most, part.p_filesz - into), ELF_T_BYTE);
    if (data == nullptr) return absl::UnavailableError(elf_errmsg(-1));
    return std::span(static_cast<const unsigned char*>(data->d_buf),
                     data->d_size);
  }
  return absl::UnavailableError("the file has no code there");
}

absl::StatusOr<std::vector<Instruction>> CodeImage::InstructionsOf(
    std::uint64_t begin, std::uint64_t end) {
  if (end <= begin) {
    return absl::UnavailableError("the file has no code there");
  }
  const auto code = CodeAt(begin, std::min(end - begin, kMostCode));
  if (!code.ok()) return code.status();
  return Disassemble(
      *code, begin, machine_, [this](std::uint64_t address) -> std::string {
        const FoundSymbol at = SymbolAt(address);
        if (at.name.empty()) return "";
        return at.into == 0 ? absl::StrFormat("<%s>", at.name)
                            : absl::StrFormat("<%s+0x%x>", at.name, at.into);
      });
}

absl::StatusOr<std::vector<Mnemonic>> CodeImage::MnemonicsAt(
    const std::vector<std::uint64_t>& addresses) {
  std::vector<Mnemonic> found(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto code = CodeAt(addresses[i], kLongestInstruction);
    if (!code.ok()) continue;
    auto mnemonic = MnemonicOf(*code, machine_);
    if (!mnemonic.ok()) return mnemonic.status();
    found[i] = *std::move(mnemonic);
  }
  return found;
}

}  // namespace countrace::rmap
