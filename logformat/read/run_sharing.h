// Who delivers the records of threads, and when, if not the reader run by run
// (TraceReader::ReadThreadRuns): another thread, for instance, or the sink once
// the kernel says something of that thread.
//
//   reader                          scheduler
//     Hold(stream, up to t) ------> runs of it, by RunSource, wherever it likes
//     kernel records, other streams:
//       a kernel record  ---------> what it concerns is delivered up to it
//     at t: IsDone(stream)? then its next record is known, else it is not
//     before t: Hold(stream, up to t') again, or WaitFor(stream)
//
// A stream that is held belongs to the scheduler until IsDone(), WaitFor() or
// ReturnAll().
#ifndef COUNTRACE_LOGFORMAT_READ_RUN_SHARING_H_
#define COUNTRACE_LOGFORMAT_READ_RUN_SHARING_H_

#include <cstdint>

namespace countrace::logformat {

struct EventRecord;
class ItemSink;

// The records of one thread, in the order of time.
class RunSource {
 public:
  virtual ~RunSource() = default;
  // Delivers those before `limit_ns`, by OnThreadRecords() alone. Returns:
  // false if it stopped before something else: a loss, or another thread's.
  virtual bool DeliverRuns(std::uint64_t limit_ns, ItemSink& sink) = 0;
  // Time of the next item; a great time if there is none.
  virtual std::uint64_t next_ns() const = 0;
};

// Who may have runs delivered elsewhere. Called by the reader's thread.
class RunScheduler {
 public:
  virtual ~RunScheduler() = default;
  // Takes over the next records of a thread, up to `limit_ns`, which a kernel
  // record may come before: what the records until then mean must not be
  // different once that was delivered. `head`: of the packet. `exact`: the
  // first is of `begin_ns`; else the stream was held up to there, and is still
  // not done. Returns: false if the reader is to deliver them, after what was
  // held before.
  virtual bool Hold(RunSource& source, const EventRecord& head,
                    std::uint64_t begin_ns, bool exact,
                    std::uint64_t limit_ns) = 0;
  // All that was held of the stream is delivered, and it is the reader's again.
  virtual bool IsDone(std::uint32_t stream) = 0;
  virtual void WaitFor(std::uint32_t stream) = 0;
  // All streams are the reader's, delivered up to the last kernel record.
  virtual void ReturnAll() = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_RUN_SHARING_H_
