// Samples with their stacks, as Perfetto has those of perf: a sequence for each
// sampled event, with its own interned callstacks, frames and mappings.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_

#include <map>
#include <memory>

#include "rmap/export/perfetto/packets.h"
#include "rmap/result/samples.h"

namespace countrace::rmap::perfetto {

class SampleWriter {
 public:
  // `report`: its threads are those of the samples' contexts.
  SampleWriter(const Report& report, Packets& packets);
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  // As PipelineOptions::on_sample: `samples` is the same in all calls.
  void Add(const Samples& samples, const TimedSample& sample);
  // Behind the last: how many the kernel lost. Does not use the samples of
  // Add() any more.
  void Finish(const Samples& samples);

 private:
  class Names;

  const Report& report_;
  Packets& packets_;
  std::map<ThreadIndex, const ThreadRow*> threads_;
  std::unique_ptr<Names> names_;  // absent before the first sample
};

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_
