#include "logformat/read/record_filter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/glob.h"
#include "logformat/event_schema.h"

namespace countrace::logformat {
namespace {

// "pid" is an id of its kind, and so is "parent_pid".
bool IsId(const std::string& name, const std::string& id) {
  return name == id || name.ends_with("_" + id);
}

// The name that globs are matched against.
std::string NameOf(const TraceInfo& info, const EventClass& event) {
  const std::uint32_t bits = kEventDumpBit | kEventExitBit;
  const HookInfo* const hook = info.FindHook((event.id & ~bits) / 2);
  // A CPU stream has fixed ids below those of the recorder's hooks.
  const bool of_hook =
      hook != nullptr && (event.stream_class == StreamClass::kThread ||
                          hook->origin != HookOrigin::kProgram);
  return of_hook ? hook->FullName() : event.name;
}

// An unsigned or signed number of 3 or 4 bytes, little-endian.
std::int64_t IdAt(const std::byte* at, std::uint32_t bytes) {
  std::uint32_t value = 0;
  for (std::uint32_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<std::uint32_t>(at[i]);
  }
  return bytes == 4 ? static_cast<std::int32_t>(value)
                    : static_cast<std::int64_t>(value);
}

}  // namespace

RecordFilter::RecordFilter(const TraceInfo& info, RecordChoice choice)
    : choice_(std::move(choice)) {
  for (auto& index : index_) index.assign(65536, 0);
  std::set<std::string> matched;
  for (const EventClass& event : EventClasses(info)) {
    Kind kind;
    if (choice_.hooks) {
      const std::string name = NameOf(info, event);
      kind.passes =
          std::any_of(choice_.hooks->begin(), choice_.hooks->end(),
                      [&](const std::string& glob) {
                        return base::GlobMatches(glob.c_str(), name.c_str());
                      });
      if (kind.passes) matched.insert(name);
    }
    if (event.stream_class == StreamClass::kCpu) {
      std::size_t offset = sizeof(std::uint64_t);  // behind the header word
      for (const EventField& field : event.fields) {
        const std::size_t bytes = FieldBytes(field);
        const bool is_pid = IsId(field.name, "pid");
        if (field.type != FieldType::kCounter &&
            (is_pid || IsId(field.name, "tid"))) {
          kind.ids.push_back({static_cast<std::uint32_t>(offset),
                              static_cast<std::uint32_t>(bytes), is_pid});
        }
        offset += bytes;
      }
    }
    kinds_.push_back(std::move(kind));
    index_[static_cast<std::size_t>(event.stream_class)][event.id] =
        static_cast<std::uint32_t>(kinds_.size());
  }
  hooks_matched_ = matched.size();
}

bool RecordFilter::Names(const EventRecord& record, const Kind& kind,
                         const TaskChoice& choice) const {
  if (record.stream_class == StreamClass::kThread) {
    return choice.pids.contains(record.pid) || choice.tids.contains(record.tid);
  }
  return std::any_of(
      kind.ids.begin(), kind.ids.end(), [&](const IdField& field) {
        if (field.offset + field.bytes > record.bytes.size()) return false;
        const std::int64_t id =
            IdAt(record.bytes.data() + field.offset, field.bytes);
        return (field.is_pid ? choice.pids : choice.tids).contains(id);
      });
}

bool RecordFilter::Passes(const EventRecord& record) const {
  if (record.time_ns < choice_.from_ns || record.time_ns >= choice_.to_ns) {
    return false;
  }
  const std::uint32_t index =
      index_[static_cast<std::size_t>(record.stream_class)][record.event_id];
  if (index == 0) return choice_.tasks.empty() && !choice_.hooks;
  const Kind& kind = kinds_[index - 1];
  if (!kind.passes) return false;
  return std::all_of(
      choice_.tasks.begin(), choice_.tasks.end(),
      [&](const TaskChoice& tasks) { return Names(record, kind, tasks); });
}

}  // namespace countrace::logformat
