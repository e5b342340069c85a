// Messages between hosts: hooks whose values say which message it is, where it
// is sent and where it is received.
//
// `--pairs SEND.VALUE,RECEIVE.VALUE`. A message is sent when the hit or call of
// SEND begins, and received when that of RECEIVE with the same value, on
// another host, begins. A segment SEND waits for the answer: its call ends
// after that. (Not after RECEIVE's ends, which may be after the answer was
// sent.) A value that a host has twice is of no message. Thread: one.
#ifndef COUNTRACE_RMAP_HOSTS_MESSAGE_PAIRS_H_
#define COUNTRACE_RMAP_HOSTS_MESSAGE_PAIRS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/requests/join_rule.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

struct PairsRule {
  std::string text;  // as the user gave it
  JoinRule send, receive;
};
// Errors: INVALID_ARGUMENT.
absl::StatusOr<PairsRule> ParsePairs(const std::string& text);

// One side of a message.
struct MessageEnd {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // of a call whose exit was recorded; else 0
  ThreadIndex thread = kNoThread;
};
struct HostMessages {
  using Ends = std::unordered_map<std::string, MessageEnd>;  // by value
  Ends sent, received;
  // Values that a host has more than once, and calls beyond the limit.
  std::uint64_t ambiguous = 0, left_out = 0;
  std::string why_none;  // no such hook or value; empty: it has one of the two
};

// Reads the trace twice. A hook that the trace has not is no error: not every
// host does both. Errors: of reading; CANCELLED.
absl::StatusOr<HostMessages> MessagesOf(
    logformat::TraceReader& reader, const PairsRule& rule,
    const logformat::ProgressCallback& progress);

// Two times of one message, each on its host's clock: `earlier` was before
// `later`.
struct MessageOrder {
  std::uint64_t earlier_ns, later_ns;
  bool from_a;  // `earlier` is of the first host
};
// What the messages between two hosts say, both ways.
std::vector<MessageOrder> OrdersOf(const HostMessages& a,
                                   const HostMessages& b);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MESSAGE_PAIRS_H_
