// Converts events of user code to records of hooks in thread streams.
//
// A pair of events in one thread is a segment in that thread's call tree. A
// pair that may cross threads (`across_threads`) is in no thread's call tree:
// each such request in flight has a track, a pseudo-thread with an id that no
// thread can have, in the process that began it. So its calls, durations and
// percentiles are reported; on-CPU time and counts are not, because they do not
// belong to it.
//
// In: events in time order. Out: records to TraceOutput. Memory grows with
// threads, open requests and names. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_USER_EVENTS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_USER_EVENTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/import/ctf/function_names.h"
#include "logformat/import/mapping/event_plan.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/source_stream.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

class UserEvents {
 public:
  // If more requests are in flight, they are lost, and counted as lost.
  static constexpr std::size_t kMaxTracks = 4096;

  UserEvents(TraceOutput& output, const Mapping& mapping)
      : output_(output),
        mapping_(mapping),
        segment_hooks_(mapping.segments.size()),
        requests_(mapping.segments.size()) {}

  // Sets the counters of thread dumps, before the first event. Bit i of
  // `uncertain`: it is not known whether counter i ran all the time.
  void SetCounters(std::size_t count, std::uint32_t uncertain) {
    counters_ = count;
    uncertain_ = uncertain;
  }
  void OpenObjectsBy(FunctionNames::OpenObject open) {
    names_.OpenBy(std::move(open));
  }
  void NameProcess(std::int32_t pid, std::string name) {
    processes_[pid] = std::move(name);
  }
  // Assigns a hook to the plan of an event class of user code, whose payload is
  // known.
  void Prepare(EventPlan& plan);
  void OnEvent(const SourceEvent& source, const EventPlan& plan);
  void OnLoss(SourceStream& stream, logformat::DiscardCause cause,
              std::uint64_t records, std::uint64_t packets,
              std::uint64_t begin_ns, std::uint64_t end_ns);
  // Adds the processes' names and TraceInfo::not_known.
  void Finish();

 private:
  struct Hook {
    std::uint32_t id = 0;
    bool payload = false;
  };
  struct OpenCall {
    std::uint32_t hook_id;
    std::string key;
  };
  struct Request {
    OutputStream* track;
    std::int32_t pid;
  };
  struct Tracks {
    std::vector<std::int32_t> free;  // the last one is used first
    std::int32_t next = 0;
  };

  OutputStream& ThreadOf(const SourceEvent& source, const EventPlan& plan);
  std::uint32_t AddHook(logformat::HookKind kind, const std::string& name,
                        const std::string& location,
                        const std::vector<logformat::PayloadType>& types,
                        const std::vector<std::string>& names);
  // Hook of a name found in a field; 0 if there are too many.
  std::uint32_t NamedHook(logformat::HookKind kind, std::string_view name,
                          bool payload, const std::string& location);
  void Append(OutputStream& thread, const SourceEvent& source,
              const EventPlan& plan, std::uint32_t event_id, bool payload);
  void AppendRaw(OutputStream& thread, const SourceEvent& source,
                 const EventPlan& plan, std::uint32_t event_id,
                 std::string_view payload);
  bool Dump(const SourceEvent& source, const EventPlan& plan);
  std::string KeyOf(const EventFields& event, const EventPlan& plan) const;
  void EnterKeyed(OutputStream& thread, const SourceEvent& source,
                  const EventPlan& plan);
  void ExitKeyed(OutputStream& thread, const SourceEvent& source,
                 const EventPlan& plan);
  void BeginRequest(OutputStream& thread, const SourceEvent& source,
                    const EventPlan& plan);
  void EndRequest(const SourceEvent& source, const EventPlan& plan);
  void OnNamed(OutputStream& thread, const SourceEvent& source,
               const EventPlan& plan);
  // An exit without an address (lttng_ust_cyg_profile_fast) ends the innermost
  // function.
  void OnFunction(OutputStream& thread, const SourceEvent& source,
                  const EventPlan& plan);
  std::uint32_t FunctionHook(std::int32_t pid, std::uint64_t address);
  void OnObject(const SourceEvent& source, const EventPlan& plan);

  TraceOutput& output_;
  const Mapping& mapping_;
  std::size_t counters_ = 0;
  std::uint32_t uncertain_ = 0;
  std::string body_, text_;
  std::vector<std::uint32_t> segment_hooks_;      // by mapping
  absl::flat_hash_map<std::string, Hook> named_;  // by kind and name
  absl::flat_hash_map<std::uint64_t, std::uint32_t> functions_;
  // Hooks of the calls that are open, the innermost last.
  absl::flat_hash_map<const OutputStream*, std::vector<std::uint32_t>>
      open_functions_;
  FunctionNames names_;
  // Events without a record, by name: on what is loaded, or ignored.
  std::map<std::string, std::uint64_t> left_out_;
  absl::flat_hash_map<const OutputStream*, std::vector<OpenCall>> open_;
  std::vector<absl::flat_hash_map<std::string, Request>> requests_;
  std::map<std::int32_t, Tracks> tracks_;  // by pid
  std::map<std::int32_t, std::string> processes_;
  std::size_t in_flight_ = 0;
  std::int32_t next_track_ = 0;
  // Reported by Finish().
  std::uint64_t overlapped_ = 0, ends_without_begin_ = 0, unhooked_ = 0;
  std::uint64_t requests_lost_ = 0, same_key_ = 0;
  std::set<std::string> requests_seen_;
  bool unknown_thread_ = false, made_up_thread_ = false;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_USER_EVENTS_H_
