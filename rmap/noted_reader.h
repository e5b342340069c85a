// A reader that shows its records to another one than the reconstruction: spans
// do not have the records that they come from. Thread: one.
#ifndef COUNTRACE_RMAP_NOTED_READER_H_
#define COUNTRACE_RMAP_NOTED_READER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"

namespace countrace::rmap {

class RecordNotes {
 public:
  virtual ~RecordNotes() = default;
  // Before the spans that come from `record`, which is valid until
  // AfterRecord().
  virtual void OnRecord(const logformat::EventRecord& record) = 0;
  virtual void AfterRecord() = 0;
};

// The record is an enter or point of the hook, or (`exit`) an exit.
inline bool IsRecordOf(const logformat::EventRecord& record,
                       std::uint32_t hook_id, bool exit) {
  return logformat::EventHookId(record.event_id) == hook_id &&
         ((record.event_id & logformat::kEventExitBit) != 0) == exit &&
         (record.stream_class == logformat::StreamClass::kThread ||
          logformat::IsKernelHookEvent(record.event_id));
}

// Shows each record to `notes`, around what comes from it. Both must outlive
// it.
class NotedReader final : public logformat::TraceReader {
 public:
  NotedReader(TraceReader& reader, RecordNotes& notes)
      : reader_(reader), notes_(notes) {}

  const logformat::TraceInfo& info() const override { return reader_.info(); }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return reader_.streams();
  }
  const std::string& directory() const override { return reader_.directory(); }
  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback& progress) override {
    Sink noted(sink, notes_);
    return reader_.Read(noted, progress);
  }
  std::uint64_t complete_from_ns() const override {
    return reader_.complete_from_ns();
  }
  std::uint64_t end_ns() const override { return reader_.end_ns(); }
  bool keeps_records() const override { return reader_.keeps_records(); }
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return reader_.session_discarded();
  }
  std::uint32_t session_last_errno() const override {
    return reader_.session_last_errno();
  }
  std::uint32_t late_sub_buffers() const override {
    return reader_.late_sub_buffers();
  }
  const std::vector<std::string>& messages() const override {
    return reader_.messages();
  }

 private:
  class Sink final : public logformat::ItemSink {
   public:
    Sink(ItemSink& sink, RecordNotes& notes) : sink_(sink), notes_(notes) {}
    void OnRecord(const logformat::EventRecord& record) override {
      notes_.OnRecord(record);
      sink_.OnRecord(record);
      notes_.AfterRecord();
    }
    void OnDiscardedEvents(const logformat::DiscardedEvents& loss) override {
      sink_.OnDiscardedEvents(loss);
    }
    void OnDiscardedPackets(const logformat::DiscardedPackets& loss) override {
      sink_.OnDiscardedPackets(loss);
    }

   private:
    ItemSink& sink_;
    RecordNotes& notes_;
  };

  TraceReader& reader_;
  RecordNotes& notes_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_NOTED_READER_H_
