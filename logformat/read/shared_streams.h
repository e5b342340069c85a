// The reader's side of run_sharing.h: which streams are elsewhere, and up to
// when they were offered. Thread: the reader's.
#ifndef COUNTRACE_LOGFORMAT_READ_SHARED_STREAMS_H_
#define COUNTRACE_LOGFORMAT_READ_SHARED_STREAMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "logformat/read/run_sharing.h"
#include "logformat/read/stream_cursor.h"

namespace countrace::logformat {

class SharedStreams {
 public:
  // `scheduler` null: the reader delivers everything. The time span of the
  // trace says how much is offered at once.
  SharedStreams(RunScheduler* scheduler, std::vector<StreamCursor>& cursors,
                std::uint64_t begin_ns, std::uint64_t end_ns);
  // Waits for what is elsewhere: the cursors are the reader's again.
  ~SharedStreams();
  SharedStreams(const SharedStreams&) = delete;
  SharedStreams& operator=(const SharedStreams&) = delete;

  // `stream` is the next of all, with what is not before `next_ns`. Returns:
  // its new next_ns, exact or a time before which the reader need not look at
  // it; nothing: next_ns is exact, and the reader is to deliver.
  std::optional<std::uint64_t> Pass(std::uint32_t stream,
                                    std::uint64_t next_ns);

  // The next kernel record is of `kernel_ns`. True: nothing is elsewhere any
  // more, from now on, and each cursor says where it is.
  bool IsOver(std::uint64_t kernel_ns) {
    if (kernel_ns < first_loss_ns_) [[likely]]
      return false;
    return End();
  }

 private:
  struct Shared {
    bool held = false;
    EventRecord head{};  // the cursor's own is being written
    // Of the threads after each other that the stream is of.
    std::vector<StreamCursor::Head> heads;
    std::vector<bool> contested;  // of each
    bool ends_thread = false;     // no other goes on with the last one's
    std::size_t next_head = 0;    // the first after `head`'s
  };

  // Threads with two streams at the same time: who they are may depend on which
  // comes first. And those that no other stream goes on with.
  void FindContested();
  // Who the next record is of may be told later. Requires: it is a record.
  bool IsClear(const Shared& shared, const EventRecord& head) const;
  // All of it was offered, and nothing else waits for it.
  bool IsAtRest(const Shared& shared, std::uint64_t next_ns) const;
  // Nothing: it was not taken.
  std::optional<std::uint64_t> Offer(std::uint32_t stream,
                                     std::uint64_t next_ns, bool exact);
  std::uint64_t SliceEnd(std::uint64_t next_ns) const;
  bool End();

  RunScheduler* scheduler_;  // null: nothing is shared
  std::vector<StreamCursor>& cursors_;
  std::vector<Shared> streams_;
  std::uint64_t slice_ns_ = 0;
  std::uint64_t end_ns_;  // of the trace, if its heads are right
  // What comes after a loss may depend on the order of threads: in an interval
  // between two kernel records with one nothing is shared, nor after it. kEnd:
  // that is not to be looked for.
  std::uint64_t first_loss_ns_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_SHARED_STREAMS_H_
