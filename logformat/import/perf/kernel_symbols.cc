#include "logformat/import/perf/kernel_symbols.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/code/elf_file.h"
#include "base/code/elf_identity.h"
#include "base/code/kept_files.h"
#include "base/code/unwind_files.h"
#include "base/posix/regular_file.h"
#include "base/text/name_escape.h"

namespace countrace::importer::perf {
namespace {

constexpr std::string_view kKernel = "[kernel.kallsyms]";

// Empty: it is not open, or cannot be read.
std::string TextOf(const base::ScopedFd& fd) {
  constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;
  if (!fd.is_open()) return "";
  return base::ReadAll(fd.get(), kLargest).value_or("");
}

// The address of a symbol of the kernel itself.
std::optional<std::uint64_t> AddressOf(std::string_view kallsyms,
                                       const std::string& symbol) {
  const std::string end = " " + symbol + "\n";
  const std::size_t at = kallsyms.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = kallsyms.rfind('\n', at) + 1;
  const std::string_view line = kallsyms.substr(begin, at - begin);
  const std::string_view word = line.substr(0, line.find(' '));
  std::uint64_t address = 0;
  if (!absl::SimpleHexAtoi({word.data(), word.size()}, &address)) {
    return std::nullopt;
  }
  return address;
}

// The symbols of a vmlinux as the kernel writes them.
std::string KallsymsOf(Elf* elf) {
  std::string text;
  for (const auto& [section, head, of_section] : base::SectionsOf(elf)) {
    if (head.sh_type != SHT_SYMTAB || head.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) break;
      const char* const name = elf_strptr(elf, head.sh_link, symbol.st_name);
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (name == nullptr || *name == '\0' || symbol.st_shndx == SHN_UNDEF ||
          type == STT_SECTION || type == STT_FILE) {
        continue;
      }
      const auto binding = GELF_ST_BIND(symbol.st_info);
      const char code = binding == STB_WEAK     ? 'W'
                        : binding == STB_GLOBAL ? 'T'
                                                : 't';
      absl::StrAppendFormat(&text, "%x %c %s\n", symbol.st_value,
                            type == STT_OBJECT ? 'd' : code, name);
    }
  }
  return text;
}

// "/lib/modules/6.1.0/kernel/net/nf-nat.ko.xz" and "[nf_nat]" are nf_nat.
std::string ModuleName(std::string_view path) {
  if (path.starts_with('[')) {
    path.remove_prefix(1);
    return std::string(path.substr(0, path.find(']')));
  }
  path.remove_prefix(path.rfind('/') + 1);
  std::string name(path.substr(0, path.find(".ko")));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

void KernelSymbols::Map(const MappingRecord& mapping) {
  if (mapping.path.starts_with(kKernel)) {
    reference_ = mapping.path.substr(kKernel.size());
    reference_at_ = mapping.offset;
    build_id_ = mapping.build_id;
    return;
  }
  if (mapping.path.starts_with("[guest") ||
      mapping.start + mapping.bytes <= mapping.start) {
    return;
  }
  Module& module = modules_[mapping.start];
  module = {};
  module.end = mapping.start + mapping.bytes;
  module.name = ModuleName(mapping.path);
  module.build_id = mapping.build_id;
  const auto known = file_.build_ids.find(std::string(mapping.path));
  if (module.build_id.empty() && known != file_.build_ids.end()) {
    module.build_id = known->second;
  }
}

bool KernelSymbols::Take(const std::string& kallsyms) {
  const auto here = AddressOf(kallsyms, reference_);
  // All addresses are 0 where the kernel hides them.
  if (!here || *here == 0) return false;
  symbols_ = base::LocalSymbols::OfKernel(kallsyms);
  moved_by_ = reference_at_ - *here;
  return symbols_.size() != 0;
}

bool KernelSymbols::TakeElf(const std::string& path) {
  base::UnwindFile file;
  return machine_.object != nullptr && !path.empty() &&
         file.Take(machine_.object(path), build_id_) &&
         Take(KallsymsOf(file.elf()));
}

void KernelSymbols::Choose() {
  const auto known = file_.build_ids.find(std::string(kKernel));
  if (build_id_.empty() && known != file_.build_ids.end()) {
    build_id_ = known->second;
  }
  if (build_id_.empty()) {
    why_not_ = "the file has no build id of its kernel";
    return;
  }
  if (reference_.empty() || reference_at_ == 0) {
    why_not_ = "the file does not say where its kernel lay";
    return;
  }
  if (machine_.kernel == nullptr) {
    why_not_ = "this machine's kernel is not looked at";
    return;
  }
  const std::string running = base::BuildIdIn(TextOf(machine_.kernel("notes")));
  if (running == build_id_) {
    is_running_ = Take(TextOf(machine_.kernel("kallsyms")));
    if (is_running_) return;
  }
  if (Take(TextOf(machine_.kernel("kept/" + build_id_))) ||
      TakeElf(base::KeptFile(build_id_, "elf")) ||
      TakeElf(base::DebugFile(build_id_)) ||
      TakeElf("/usr/lib/debug/boot/vmlinux-" + file_.os_release) ||
      TakeElf("/boot/vmlinux-" + file_.os_release)) {
    return;
  }
  why_not_ =
      running == build_id_
          ? "the kernel hides its addresses from this user: read it as root, "
            "or set kernel.kptr_restrict=0"
          : absl::StrFormat(
                "its build id is %s, that of the running one %s, and neither "
                "perf's copy of its symbols nor a vmlinux is here",
                build_id_, running.empty() ? "not known" : running);
}

// A module may lie elsewhere now, or be another one.
void KernelSymbols::LookUp(std::uint64_t begin, Module& module) {
  module.is_looked_up = true;
  if (!is_running_ || module.build_id.empty() ||
      base::BuildIdIn(TextOf(machine_.kernel("module/" + module.name))) !=
          module.build_id) {
    return;
  }
  // "nf_nat 57344 3 - Live 0xffffffffc0a00000"
  const std::string modules = TextOf(machine_.kernel("modules"));
  for (const absl::string_view line : absl::StrSplit(modules, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    constexpr std::size_t kAddress = 5;
    std::uint64_t here = 0;
    if (words.size() > kAddress && words[0] == module.name &&
        absl::SimpleHexAtoi(words[kAddress], &here) && here != 0) {
      module.moved_by = begin - here;
      return;
    }
  }
}

std::optional<base::LocalSymbol> KernelSymbols::Find(std::uint64_t address) {
  if (!std::exchange(is_chosen_, true)) Choose();
  if (!why_not_.empty()) return std::nullopt;
  std::uint64_t moved_by = moved_by_;
  std::string suffix;
  const auto after = modules_.upper_bound(address);
  if (after != modules_.begin() && address < std::prev(after)->second.end) {
    auto& [begin, module] = *std::prev(after);
    if (!module.is_looked_up) LookUp(begin, module);
    if (!module.moved_by) {
      unknown_module_ = module.name;
      return std::nullopt;
    }
    moved_by = *module.moved_by;
    suffix = " [" + module.name + "]";
  }
  const base::LocalSymbol* const symbol = symbols_.Find(address - moved_by);
  if (symbol == nullptr) return std::nullopt;
  const bool of_module = symbol->name.ends_with(']');
  if (suffix.empty() ? of_module : !symbol->name.ends_with(suffix)) {
    return std::nullopt;
  }
  base::LocalSymbol found = *symbol;
  found.begin += moved_by;
  return found;
}

std::uint64_t KernelSymbols::CallerAddress(std::uint64_t next) {
  if (next % base::kKernelFunctionAlignment != 0) return next - 1;
  const auto symbol = Find(next);
  return symbol && symbol->begin == next ? next : next - 1;
}

std::string KernelSymbols::why_not() const {
  if (!why_not_.empty() || unknown_module_.empty()) return why_not_;
  return absl::StrFormat(
      "module %s, or others, is not loaded here as it was recorded",
      base::EscapeName(unknown_module_));
}

}  // namespace countrace::importer::perf
