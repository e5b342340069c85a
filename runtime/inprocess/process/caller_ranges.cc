#include "runtime/inprocess/process/caller_ranges.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/posix/own_call.h"
#include "logformat/rules/dump_rule.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace {

// Relaxed: while a library is loaded or unloaded, a hook may read one bound of
// the old range and one of the new. One decision is then wrong; later ones are
// right.
struct Range {
  std::atomic<std::uintptr_t> begin, end;
};
Range g_ranges[COUNTRACE_MAX_DUMP_RULES];

const char* FileName(const char* path) noexcept {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// "libfoo.so" names libfoo.so and libfoo.so.1.2.
bool IsNamed(const char* file, const char* wanted) noexcept {
  const std::size_t bytes = strlen(wanted);
  return strncmp(file, wanted, bytes) == 0 &&
         (file[bytes] == '\0' || file[bytes] == '.');
}

struct Search {
  const countrace_dump_rule* rule;
  Range* range;
  // The loader lists the program itself first, without a name.
  bool first;
  const char* program;
};

int OnObject(dl_phdr_info* info, std::size_t, void* context) noexcept {
  auto& search = *static_cast<Search*>(context);
  const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (search.first && *name == '\0') name = search.program;
  search.first = false;
  if (!IsNamed(FileName(name), search.rule->caller)) return 0;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t segment_end = segment.p_vaddr + segment.p_memsz;
    if (segment_end > end) end = segment_end;
  }
  // Offsets are those of the object file, cut to the object's size.
  if (search.rule->caller_end < end) end = search.rule->caller_end;
  search.range->begin.store(info->dlpi_addr + search.rule->caller_begin,
                            std::memory_order_relaxed);
  search.range->end.store(info->dlpi_addr + end, std::memory_order_relaxed);
  return 1;
}

}  // namespace

void FindCallerRanges() noexcept {
  for (std::uint32_t i = 0;
       i < g_settings->dump_rule_count && i < COUNTRACE_MAX_DUMP_RULES; ++i) {
    const countrace_dump_rule& rule = g_settings->dump_rules[i];
    if (rule.caller_end == 0) continue;
    if (rule.caller[0] == '\0') {
      g_ranges[i].begin.store(rule.caller_begin, std::memory_order_relaxed);
      g_ranges[i].end.store(rule.caller_end, std::memory_order_relaxed);
      continue;
    }
    char program[4096] = {};
    if (base::OwnCall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program,
                      sizeof(program) - 1) < 0) {
      program[0] = '\0';
    }
    Search search = {&rule, &g_ranges[i], true, program};
    if (dl_iterate_phdr(&OnObject, &search) == 0) {
      g_ranges[i].end.store(0, std::memory_order_relaxed);
    }
  }
}

bool IsInCallerRange(std::uint32_t index, std::uintptr_t caller) noexcept {
  const Range& range = g_ranges[index];
  return caller >= range.begin.load(std::memory_order_relaxed) &&
         caller < range.end.load(std::memory_order_relaxed);
}

}  // namespace countrace::runtime
