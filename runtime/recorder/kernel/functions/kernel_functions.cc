#include "runtime/recorder/kernel/functions/kernel_functions.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "base/posix/small_file.h"
#include "base/text/glob.h"
#include "runtime/recorder/system/file_rights.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

// What the BPF programs call themselves while they take the time, the counters
// and room in the ring: a record of a call there would never fit between.
constexpr const char* kOwnPath[] = {
    "bpf_*",           "__bpf_*",          "htab_*",
    "__htab_*",        "array_map_*",      "perf_event_read*",
    "__perf_event_*",  "ktime_get_*fast*", "copy_from_kernel_nofault*",
    "read_tsc",        "pvclock_*",        "kvm_clock_*",
    "trace_call_bpf*", "*task_storage_*",  "x86_pmu_read*",
    "arch_counter_*"};

// A function and the module that it belongs to.
using Key = std::pair<std::string_view, std::string_view>;

template <typename Use>
void ForEachLine(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// "name", "name\t[module]", "name [module]".
Key KeyOf(std::string_view text) {
  const std::size_t end = text.find_first_of(" \t");
  if (end == std::string_view::npos) return {text, {}};
  std::string_view module = text.substr(end);
  const std::size_t open = module.find('['), close = module.find(']');
  module = open == std::string_view::npos || close == std::string_view::npos
               ? std::string_view()
               : module.substr(open + 1, close - open - 1);
  return {text.substr(0, end), module};
}

struct Symbol {
  std::uint64_t address = 0;
  char type = 0;
  Key key;
};

// "ffffffff81000000 T name\t[module]"
Symbol ParseSymbol(std::string_view line) {
  Symbol symbol;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(),
                                      symbol.address, 16);
  const auto digits = static_cast<std::size_t>(parsed.ptr - line.data());
  if (digits + 3 >= line.size()) return symbol;
  symbol.type = line[digits + 1];
  symbol.key = KeyOf(line.substr(digits + 3));
  return symbol;
}

bool IsInOwnPath(const std::string& name) {
  return std::any_of(std::begin(kOwnPath), std::end(kOwnPath),
                     [&name](const char* glob) {
                       return base::GlobMatches(glob, name.c_str());
                     });
}

}  // namespace

std::vector<KernelFunction> ParseKernelFunctions(std::string_view symbols,
                                                 std::string_view traceable) {
  std::set<Key> may;
  ForEachLine(traceable,
              [&may](std::string_view line) { may.insert(KeyOf(line)); });
  std::vector<Symbol> functions;
  std::uint64_t noinstr_begin = 0, noinstr_end = 0;
  ForEachLine(symbols, [&](std::string_view line) {
    const Symbol symbol = ParseSymbol(line);
    const std::string_view name = symbol.key.first;
    if (name == "__noinstr_text_start") noinstr_begin = symbol.address;
    if (name == "__noinstr_text_end") noinstr_end = symbol.address;
    const bool is_code = symbol.type == 't' || symbol.type == 'T' ||
                         symbol.type == 'w' || symbol.type == 'W';
    // Names of a compiler's or an assembler's part of one.
    if (!is_code || name.empty() || name.front() == '.' ||
        name.find(".cold") != std::string_view::npos ||
        name.starts_with("__pfx_") || name.starts_with("__cfi_")) {
      return;
    }
    functions.push_back(symbol);
  });
  std::sort(functions.begin(), functions.end(),
            [](const Symbol& a, const Symbol& b) { return a.key < b.key; });
  // The kernel's list has one name of those that a function may have.
  std::set<std::uint64_t> places;
  for (const Symbol& symbol : functions) {
    if (may.contains(symbol.key)) places.insert(symbol.address);
  }
  places.erase(0);
  std::vector<KernelFunction> result;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Symbol& symbol = functions[i];
    if (i > 0 && functions[i - 1].key == symbol.key) continue;
    KernelFunction function{std::string(symbol.key.first),
                            std::string(symbol.key.second), "", symbol.address};
    if (IsInOwnPath(function.name)) {
      function.why_not = "in the recorder's own path";
    } else if (symbol.address != 0 && symbol.address >= noinstr_begin &&
               symbol.address < noinstr_end) {
      function.why_not = "noinstr: no other code may run there";
    } else if (!may.empty() && !may.contains(symbol.key) &&
               !places.contains(symbol.address)) {
      function.why_not = "notrace: the kernel has no place for a hook there";
    }
    result.push_back(std::move(function));
  }
  return result;
}

absl::StatusOr<std::vector<KernelFunction>> ReadKernelFunctions() {
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  const auto traceable = tracefs->Read("available_filter_functions");
  const KernelFileScope scope;
  const auto symbols = base::ReadSmallFile("/proc/kallsyms");
  if (!symbols.ok()) return symbols.status();
  return ParseKernelFunctions(*symbols, traceable.ok() ? *traceable : "");
}

}  // namespace countrace::runtime
