// How often each hook of a process was hit. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_HOOK_HITS_H_
#define COUNTRACE_RMAP_STATE_HOOK_HITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "logformat/records.h"

namespace countrace::rmap {

struct HookHits {
  std::vector<std::uint64_t> hits;  // by hook id
  std::uint64_t dumps = 0;          // part of `hits`: with counters

  void Add(std::uint32_t hook_id, bool dump) {
    if (hook_id >= hits.size()) [[unlikely]]
      hits.resize(hook_id + 1u, 0);
    ++hits[hook_id];
    dumps += dump ? 1 : 0;
  }
  void Add(std::span<const logformat::ThreadRecord> records) {
    for (const logformat::ThreadRecord& record : records) {
      Add(logformat::EventHookId(record.event_id),
          (record.event_id & logformat::kEventDumpBit) != 0);
    }
  }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_HOOK_HITS_H_
