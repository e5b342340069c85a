// What a trace lacks of what was asked for, and the one statement of it: the
// sentence, the numbers of the JSON output and the exit status of every verb.
//
// In: discarded records by cause, NotRecorded, what a reader found. Thread:
// one.
#ifndef COUNTRACE_LOGFORMAT_LOSS_H_
#define COUNTRACE_LOGFORMAT_LOSS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

struct Loss {
  std::uint64_t discarded_events = 0;
  // Part of them: before the tables, overwritten by a flight recording.
  std::uint64_t overwritten = 0;
  std::map<std::string, std::uint64_t> by_cause;  // sum: discarded_events
  std::uint64_t discarded_packets = 0;
  std::uint64_t clock_errors = 0;  // records whose time went back
  std::uint64_t lost_samples = 0;
  std::uint64_t not_joined = 0;       // processes whose hooks are not recorded
  std::uint64_t unavailable = 0;      // requests that were not recorded at all
  std::uint64_t went_on = 0;          // processes that outlived their command
  std::uint64_t left_out_ms = 0;      // without calls or samples, as asked for
  std::uint64_t cut_texts = 0;        // longer than the format allows
  std::uint64_t damaged = 0;          // parts that a reader misses
  std::uint64_t unfinished = 0;       // 1: recorder at work, or killed
  std::vector<std::string> messages;  // what, where, remedy

  void AddDiscarded(const std::string& cause, std::uint64_t records);
  void AddDiscarded(const std::array<std::uint64_t, kDiscardCauses>& records);
  void Add(const StreamInfo& stream);
  // Adds its count, not its text.
  void Add(const NotRecorded& what);
};

// The end of a sentence. `session_errno`: the error behind kDiskFull and
// kNoResource, 0: none.
std::string LossRemedy(DiscardCause cause, std::uint32_t session_errno);

NotRecorded Unavailable(std::string text, std::uint64_t requests = 1);
// What the trace of a killed recorder lacks.
NotRecorded AfterRecorderDied();
// All that the description says, and that one if it is so.
std::vector<NotRecorded> NotRecordedOf(const TraceInfo& info);

struct LossStatement {
  std::string text;  // "nothing was lost", or all that is missing
  // --fail-on-loss applies: not of what a flight recording overwrites by
  // request, or --max-cpu leaves out, nor of a recording that is not finished.
  bool is_loss = false;
  bool complete = true;  // the text is "nothing was lost"
  // The JSON object `loss`, without `by_cause` and `messages`.
  std::vector<std::pair<const char*, std::uint64_t>> numbers;
};

LossStatement StateLoss(const Loss& loss);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_LOSS_H_
