// Adds up the samples of a trace.
//
// In: records of sample points, in time order of each stream, and what is open
// in the thread at a sample. Out: Samples. Memory grows with different stacks,
// not with samples; those that are needed one by one are on disk. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SUMS_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/records.h"
#include "logformat/sample_points.h"
#include "logformat/trace_info.h"
#include "rmap/result/data_detail.h"
#include "rmap/result/samples.h"
#include "rmap/samples/sums/sample_spool.h"

namespace countrace::rmap {

class SampleSums {
 public:
  // `most_timed`: of Samples::timed. `data`: of Samples::data_sums. `each`:
  // gets all of them in Take(); may be null.
  explicit SampleSums(const logformat::TraceInfo& info,
                      std::size_t most_timed = 0,
                      DataDetail data = DataDetail::kNone,
                      SampleCallback each = nullptr);

  // Takes the record of a point that is no sample: frames, files, symbols,
  // counts. They hold for all samples, also of a range.
  void Define(const logformat::EventRecord& record);
  // Returns its innermost frame (Samples::frames); 0: no stack.
  std::uint32_t Add(const logformat::EventRecord& record,
                    const SampleContext& context);
  // Records of a CPU are lost (Bounds::kNone: unknown how many).
  void OnLoss(std::uint64_t records);
  // Forgets the samples, not what was defined: the tables begin here.
  void Drop();
  Samples Take() const;
  // Errors: samples that Take() needs could not be kept on disk.
  const absl::Status& status() const {
    return pending_.status().ok() ? all_.status() : pending_.status();
  }

 private:
  struct Key {
    std::uint32_t event, context, frame;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.event, key.context, key.frame);
    }
  };
  struct Sum {
    std::uint64_t hits = 0, second_hits = 0, periods = 0;
    double squared_periods = 0;
  };
  struct DataKey {
    std::uint32_t event, context, area;
    std::uint64_t address, source;
    bool operator==(const DataKey&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const DataKey& key) {
      return H::combine(std::move(h), key.event, key.context, key.area,
                        key.address, key.source);
    }
  };

  // The recorder's numbers of frames. They count from 1 on, as a rule; after a
  // loss, and in damaged traces, there are others.
  class FrameNumbers {
   public:
    void Set(std::uint64_t number, std::uint32_t frame);
    std::uint32_t Find(std::uint64_t number) const;  // 0: it is not defined

   private:
    std::vector<std::uint32_t> next_to_each_other_{0};  // by number
    absl::flat_hash_map<std::uint64_t, std::uint32_t> others_;
  };

  static void AddTo(Sum& sum, const TimedSample& sample);
  void DefineFrame(std::uint32_t stream,
                   std::span<const std::uint64_t> numbers);
  void DefineFile(std::span<const std::uint64_t> numbers,
                  std::span<const std::byte> texts);
  void DefineArea(std::span<const std::uint64_t> numbers);
  std::uint32_t FileOf(std::uint64_t number);
  std::uint32_t AreaOf(std::uint64_t number);
  // `context`: its index.
  void AddData(const logformat::EventRecord& record, std::uint32_t hook_id,
               std::uint32_t context, std::uint64_t period);
  std::uint32_t ContextOf(const SampleContext& context);
  void NoteCpu(std::uint32_t event, const logformat::EventRecord& record);
  bool EndsLost() const;

  std::vector<logformat::SamplePoint> points_;  // by hook id
  std::vector<std::uint32_t> events_;  // by hook id: of samples_.events
  std::vector<bool> is_second_;        // by hook id: the event's second period
  // That have samples; by event.
  std::vector<std::set<std::int32_t>> cpus_;
  std::vector<std::vector<bool>> streams_;  // by number: its CPU is in cpus_
  const std::size_t most_timed_;
  bool too_many_timed_ = false;
  std::vector<logformat::SampleData> data_;  // by hook id
  const DataDetail detail_;
  Samples samples_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> files_;  // by its number
  absl::flat_hash_map<std::uint64_t, std::uint32_t> areas_;  // likewise
  // By stream.
  std::vector<FrameNumbers> numbers_;
  absl::flat_hash_map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>,
                      std::uint32_t>
      frames_;
  std::map<SampleContext, std::uint32_t> contexts_;
  SampleContext last_context_;
  std::uint32_t last_context_index_ = 0;
  absl::flat_hash_map<Key, Sum> sums_;
  bool has_timed_symbols_ = false;
  bool has_probes_ = false;
  // By frame: the time may decide on names.
  std::vector<bool> is_timed_ = {false};
  // Those whose stack has code made at run time, in a trace that has functions
  // of a time: it decides on their frames.
  SampleSpool pending_;
  const SampleCallback each_;
  SampleSpool all_;  // for `each_`
  absl::flat_hash_map<DataKey, DataSum> data_sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SUMS_H_
