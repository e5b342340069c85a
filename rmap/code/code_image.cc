#include "rmap/code/code_image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/text/demangled.h"
#include "rmap/code/disassembly.h"

namespace countrace::rmap {
namespace {

using base::ScopedFd;
using Kind = DebugFileQuestion::Kind;

// A function of a hostile file can have its whole text section.
constexpr std::uint64_t kMostCode = std::uint64_t{16} << 20;

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

std::string HexOf(const void* id, std::ptrdiff_t bytes) {
  if (bytes <= 0) return "";
  return absl::BytesToHexString(absl::string_view(
      static_cast<const char*>(id), static_cast<std::size_t>(bytes)));
}

std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* id = nullptr;
  GElf_Addr at = 0;
  const int bytes = dwfl_module_build_id(module, &id, &at);
  return HexOf(id, bytes);
}

std::string BuildIdOf(int file) {
  const std::unique_ptr<Elf, ElfEnd> elf(
      elf_begin(file, ELF_C_READ_MMAP, nullptr));
  if (elf == nullptr) return "";
  const void* id = nullptr;
  const std::ptrdiff_t bytes = dwelf_elf_gnu_build_id(elf.get(), &id);
  return HexOf(id, bytes);
}

// As .gnu_debuglink has it.
std::uint32_t ChecksumOf(int file) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      }
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t sum = ~std::uint32_t{0};
  std::vector<unsigned char> block(std::size_t{1} << 16);
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, block.data(), block.size(), at);
    if (got <= 0) return ~sum;
    for (ssize_t i = 0; i < got; ++i) {
      sum =
          table[(sum ^ block[static_cast<std::size_t>(i)]) & 0xff] ^ (sum >> 8);
    }
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
  opened_.build_id = BuildIdOf(module_);
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr ||
        part.p_type != PT_LOAD) {
      continue;
    }
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
  ScopedFd file = static_cast<CodeImage*>(*user)->FindDebug(link, crc);
  if (file.is_open()) *found = strdup("debug");
  return file.Release();
}

// As dwfl_standard_find_debuginfo() looks.
ScopedFd CodeImage::FindDebug(const char* link, GElf_Word crc) {
  const std::string& id = opened_.build_id;
  for (const Kind kind : {Kind::kBuildId, Kind::kLink, Kind::kFetched}) {
    const bool is_link = kind == Kind::kLink;
    if (is_link ? link == nullptr : id.empty()) continue;
    for (std::uint64_t number = 0;; ++number) {
      ScopedFd file = find_({kind, is_link ? link : "", id, number});
      if (!file.is_open()) break;
      const bool is_right = id.empty() ? ChecksumOf(file.get()) == crc
                                       : BuildIdOf(file.get()) == id;
      if (is_right) return file;
    }
  }
  return ScopedFd();
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
  for (std::uint64_t number = 0;; ++number) {
    ScopedFd file = find_({Kind::kShared, name, id, number});
    if (!file.is_open()) return;
    if (BuildIdOf(file.get()) != id) continue;
    shared_file_ = std::move(file);
    shared_ = dwarf_begin(shared_file_.get(), DWARF_C_READ);
    if (shared_ != nullptr) dwarf_setalt(dwarf, shared_);
    return;
  }
}

const std::string& CodeImage::NameOf(const std::string& symbol) {
  const auto [found, added] = demangled_.try_emplace(symbol);
  if (added) found->second = Cut(base::Demangled(symbol));
  return found->second;
}

CodeSymbolAt CodeImage::SymbolAt(std::uint64_t address) {
  auto found = symbols_->At(bias_ + address);
  // Assembly may have symbols without a size.
  if (!found || (found->bytes != 0 && found->into >= found->bytes)) return {};
  // "clock_gettime@@GLIBC_2.17" is clock_gettime.
  found->name.resize(std::min(found->name.size(), found->name.find('@')));
  return {NameOf(found->name), found->into, found->bytes, found->is_function};
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
    for (SourceFrame& frame : source_->Of(bias_ + address)) {
      names.frames.push_back({number_of(NameOf(frame.function)),
                              number_of(Cut(std::move(frame.file))), frame.line,
                              /*inlined=*/true});
    }
    const std::uint64_t begin = names.ends.empty() ? 0 : names.ends.back();
    if (names.frames.size() == begin) names.frames.emplace_back();
    NamedAddresses::Frame& last = names.frames.back();
    last.inlined = false;
    if (CodeSymbolAt symbol = SymbolAt(address); !symbol.name.empty()) {
      last.function = number_of(std::move(symbol.name));
    }
    names.ends.push_back(names.frames.size());
  }
  return names;
}

absl::StatusOr<std::vector<Instruction>> CodeImage::InstructionsOf(
    std::uint64_t begin, std::uint64_t end) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf_, &header) == nullptr) {
    return absl::UnavailableError(elf_errmsg(-1));
  }
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr ||
        part.p_type != PT_LOAD || begin < part.p_vaddr ||
        begin - part.p_vaddr >= part.p_filesz || end <= begin) {
      continue;
    }
    const std::uint64_t bytes = std::min(
        {end - begin, part.p_filesz - (begin - part.p_vaddr), kMostCode});
    Elf_Data* const data = elf_getdata_rawchunk(
        elf_, static_cast<std::int64_t>(part.p_offset + (begin - part.p_vaddr)),
        bytes, ELF_T_BYTE);
    if (data == nullptr) return absl::UnavailableError(elf_errmsg(-1));
    return Disassemble(
        {static_cast<const unsigned char*>(data->d_buf), data->d_size}, begin,
        header.e_machine, [this](std::uint64_t address) -> std::string {
          const CodeSymbolAt at = SymbolAt(address);
          if (at.name.empty()) return "";
          return at.into == 0 ? absl::StrFormat("<%s>", at.name)
                              : absl::StrFormat("<%s+0x%x>", at.name, at.into);
        });
  }
  return absl::UnavailableError("the file has no code there");
}

}  // namespace countrace::rmap
