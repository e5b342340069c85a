// Reads a countrace trace directory, finished or not, damaged or not: its
// description (TraceInfo) and its records in time order (TraceReader).
//
// In: a trace directory. Out: records, losses. Thread: one reader, one thread.
// CTF traces of other tracers are rejected with a clear error (logformat/import
// converts them). FORMAT.md is the reference.
#ifndef COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_
#define COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/packet_layout.h"
#include "logformat/progress.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// A packet of a stream, by its head alone: its records and its checksum were
// not looked at. Or (`lost`) a place between two of them at which Read() will
// deliver a loss; that flight recordings overwrite their begin is none.
struct PacketExtent {
  StreamClass stream_class;
  TimeSpan time;                   // until_ns is in it
  std::uint64_t record_bytes = 0;  // with padding
  bool lost = false;
};

// A trace opened for reading. Never writes to the directory: an unfinished
// trace is recovered in memory.
class TraceReader {
 public:
  // Returns: NOT_FOUND no such directory; INVALID_ARGUMENT not a countrace
  // trace (the message names the kind and how to read it); DATA_LOSS metadata
  // cannot be read; RESOURCE_EXHAUSTED descriptor or mapping limit. `shown_as`,
  // if not empty, becomes TraceInfo::path: for a trace that was converted from
  // another one.
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(
      const std::string& path, const std::string& shown_as = "");
  virtual ~TraceReader() = default;

  virtual const TraceInfo& info() const = 0;
  virtual const std::vector<StreamInfo>& streams() const = 0;
  // Directory of the files; TraceInfo::path is the name to show.
  virtual const std::string& directory() const { return info().path; }

  // Delivers every item of all streams, once, in the order that `sink` accepts.
  // May be called again. Damage is delivered as DiscardedEvents or
  // DiscardedPackets. Returns: CANCELLED if `progress` returned false, after
  // the items so far were delivered.
  virtual absl::Status Read(ItemSink& sink,
                            const ProgressCallback& progress = nullptr) = 0;

  // From here on no record was overwritten (flight recordings), and each CPU
  // has had a record that names its thread; 0: nothing was overwritten. Read()
  // delivers what is left from before, which is of a few streams only.
  virtual std::uint64_t complete_from_ns() const { return 0; }

  // The latest end of a packet: no record is later. 0: not known.
  virtual std::uint64_t end_ns() const { return 0; }

  // Calls `visit` for each packet that Read() would read, stream by stream, in
  // their order. Reads nothing: opening has read the heads.
  virtual void VisitPackets(
      const std::function<void(const PacketExtent&)>& /*visit*/) const {}

  // True if pointers in records stay valid until Read() returns.
  virtual bool keeps_records() const { return false; }

  // Discarded events of the session that belong to no stream, by cause.
  virtual std::array<std::uint64_t, kDiscardCauses> session_discarded()
      const = 0;
  // errno of the last disk_full or no_resource discard, 0 if none.
  virtual std::uint32_t session_last_errno() const = 0;
  // Times a thread had to make its own sub-buffer resident (slow, no loss).
  virtual std::uint32_t late_sub_buffers() const = 0;
  // Parts of the trace's description that could not be read, for the user.
  virtual const std::vector<std::string>& messages() const = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_
