// Makes a trace directory a valid, finished CTF trace: closes open packets,
// cuts unwritten tails, writes `metadata`, removes the session's hidden files.
// Used by the recorder at the end of a recording and by `countrace recover`.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_TRACE_FINISH_H_
#define COUNTRACE_LOGFORMAT_REPAIR_TRACE_FINISH_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/packet_layout.h"
#include "logformat/repair/recorder_clock.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

struct FinishOptions {
  // A live process may still have stream files mapped: do not shorten a file
  // (the process's next store would be a SIGBUS); cover unwritten tails with an
  // empty packet instead.
  bool processes_may_be_alive = false;
  // Added to TraceInfo::not_known.
  std::vector<std::string> not_known = {};
  // The recorder did not end the recording: an unfinished trace lacks what came
  // after its death, and says so.
  bool recorder_died = false;
  // AdoptOptions::now_ns of repair/user_streams.h.
  std::uint64_t now_ns = 0;
  // Streams on another clock are left out.
  RecorderClock clock = {};
};

struct FinishResult {
  std::uint64_t streams = 0;
  std::uint64_t packets = 0;
  std::uint64_t records = 0;          // kept
  std::uint64_t closed_packets = 0;   // open packets that were closed
  std::uint64_t dropped_packets = 0;  // unreadable, removed
  std::uint64_t cut_bytes = 0;
  std::array<std::uint64_t, kDiscardCauses> discarded{};  // whole trace
  std::vector<NotRecorded> not_recorded;
  std::vector<NotRecorded> found;  // of them, what is seen in the streams only
  std::vector<std::string> messages;  // losses and where they are, for the user
  bool already_finished = false;
  // Streams that could not be finished, which are hidden (`.unread-NAME`), and
  // what was refused of other users' streams.
  std::uint64_t failed = 0;
};

// Idempotent: finishing a finished trace changes no byte. A stream with holes
// in its open packets, or with damaged packets, is rewritten to a temporary
// hidden file and renamed; other streams are patched in place. A stream that
// cannot be read or repaired keeps no other from being finished. Returns:
// NOT_FOUND, INVALID_ARGUMENT (not a countrace trace), FAILED_PRECONDITION (a
// recorder still holds the lock and `force_locked` is false),
// RESOURCE_EXHAUSTED (disk full: nothing was removed).
absl::StatusOr<FinishResult> FinishTrace(const std::string& path,
                                         const FinishOptions& options,
                                         bool force_locked = false);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_TRACE_FINISH_H_
