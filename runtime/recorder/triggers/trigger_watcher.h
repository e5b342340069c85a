// The triggers of a recording: watches all its streams as they grow, and
// reports when a snapshot is due, with the reason.
//
// In: the trace directory (committed records; programs and the kernel are not
// involved), signals. Out: DueTriggers, notices. Records are processed in time
// order over all streams, up to the time of the pass. A pass that takes too
// long is stopped and continued in the next one. The delay is counted, and so
// is data that a flight recording overwrites meanwhile. Thread: one, the
// recorder's.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_WATCHER_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_WATCHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/recorder/directory/flight_keeper.h"
#include "runtime/recorder/directory/registered_hooks.h"
#include "runtime/recorder/triggers/open_calls.h"
#include "runtime/recorder/triggers/stream_follower.h"
#include "runtime/recorder/triggers/trigger_schedule.h"
#include "runtime/recorder/triggers/trigger_values.h"
#include "runtime/recorder/triggers/watched_record.h"

namespace countrace::runtime {

class TriggerWatcher {
 public:
  // `notice` is called at once with each trigger that fired.
  TriggerWatcher(std::string trace, std::vector<Trigger> triggers,
                 std::uint64_t begin_ns,
                 std::function<void(const std::string&)> notice);
  TriggerWatcher(const TriggerWatcher&) = delete;
  TriggerWatcher& operator=(const TriggerWatcher&) = delete;

  // Processes the records committed since the last call. All kernel records
  // before `now_ns` are in their streams. `flight`: of a flight recording, else
  // null.
  void Look(std::uint64_t now_ns, const FlightKeeper* flight);
  // Fires those of the time that has passed.
  void OnTime(std::uint64_t now_ns);
  // Returns true if the signal belongs to a trigger.
  bool OnSignal(int number, std::uint64_t now_ns);

  DueTriggers TakeDue(std::uint64_t now_ns) {
    return schedule_.TakeDue(now_ns);
  }
  std::vector<logformat::TriggerFiring> TakeBounds() {
    return schedule_.TakeBounds();
  }
  std::uint64_t pauses_refused() const { return schedule_.pauses_refused(); }
  DueTriggers TakeAll() { return schedule_.TakeAll(); }

  // At the end: how often each trigger fired, which ones could never fire, and
  // what was not read.
  std::vector<std::string> Describe() const;

 private:
  struct Followed {
    StreamFollower follower;
    std::vector<WatchedRecord> records;  // ascending by time; not applied yet
  };

  void RefreshHooks();
  void FindStreams();
  // Returns the time before which all records have been read.
  std::uint64_t ReadStreams(std::uint64_t now_ns, const FlightKeeper* flight);
  void ApplyUntil(std::uint64_t horizon_ns);
  void Fire(const Fired& fired);
  void Fire(std::size_t trigger, std::uint64_t time_ns, std::string what);
  bool IsGone(std::int32_t pid, std::int32_t tid, std::uint64_t enter_ns);
  std::string Describe(const Fired& fired) const;

  std::string trace_;
  std::vector<Trigger> triggers_;
  std::uint64_t begin_ns_;
  std::function<void(const std::string&)> notice_;
  bool watches_records_ = false;  // a trigger is neither a signal nor a time
  RegisteredHooks hooks_;
  std::uint64_t generation_ = 0;
  absl::flat_hash_map<std::uint32_t, std::string> names_;  // of watched hooks
  WatchedStream cpu_, thread_;
  TriggerValues values_;
  OpenCalls calls_;
  TriggerSchedule schedule_;
  std::vector<std::uint64_t> next_ns_;       // of each trigger, for kTime
  std::map<std::string, Followed> streams_;  // by file name
  // Processes with streams that were alive when their first stream was found.
  absl::flat_hash_set<std::int32_t> seen_alive_;
  std::string first_;  // the next pass begins here, for fairness
  std::int64_t directory_changed_ns_ = -1;
  FollowBuffers buffers_;
  std::vector<Fired> fired_;
  std::uint64_t late_looks_ = 0, most_late_ns_ = 0;
  std::string trouble_;  // the first error
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_WATCHER_H_
