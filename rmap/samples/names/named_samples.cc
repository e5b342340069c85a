#include "rmap/samples/names/named_samples.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "logformat/sample_points.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kMagic = "countrace samples 2\n";
enum File : std::uint32_t { kNotKnown, kKernel, kOther };

// Numbers of 7 bits a byte, the lowest first.
class Writer {
 public:
  void Number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      out_ += static_cast<char>(value | 0x80);
    }
    out_ += static_cast<char>(value);
  }
  void Signed(std::uint64_t difference) {
    const auto value = static_cast<std::int64_t>(difference);
    Number((difference << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void Text(std::string_view text) {
    Number(text.size());
    out_ += text;
  }
  template <typename Items, typename Write>
  void List(const Items& items, Write write) {
    Number(items.size());
    for (const auto& item : items) write(item);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_{kMagic};
};

// Behind the end, and beyond a limit, it reads 0 and is no longer ok().
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes)
      : left_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
    ok_ = left_.starts_with(kMagic);
    if (ok_) left_.remove_prefix(kMagic.size());
  }
  bool ok() const { return ok_; }
  bool at_end() const { return left_.empty(); }

  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::uint64_t Signed() {
    const std::uint64_t value = Number();
    return (value >> 1) ^ (0 - (value & 1));
  }
  // Below `end`.
  std::uint32_t Below(std::uint64_t end) {
    const std::uint64_t value = Number();
    if (value < end) return static_cast<std::uint32_t>(value);
    ok_ = false;
    return 0;
  }
  std::string Text() {
    const std::size_t bytes = Count();
    std::string text(left_.substr(0, bytes));
    left_.remove_prefix(bytes);
    return text;
  }
  // Each item has a byte or more.
  template <typename Items, typename Read>
  void List(Items& items, Read read) {
    const std::size_t count = Count();
    items.reserve(count);
    for (std::size_t i = 0; i < count && ok_; ++i) items.push_back(read());
  }

 private:
  std::size_t Count() {
    const std::uint64_t count = Number();
    if (count <= left_.size()) return static_cast<std::size_t>(count);
    ok_ = false;
    return 0;
  }

  std::string_view left_;
  bool ok_ = false;
};

// The last period of each event, by either period: a sample's is seldom
// another.
class LastPeriods {
 public:
  explicit LastPeriods(std::size_t events) : last_(2 * events, 0) {}
  std::uint64_t& Of(std::uint32_t event, bool second) {
    return last_[2 * event + (second ? 1 : 0)];
  }

 private:
  std::vector<std::uint64_t> last_;
};

constexpr std::uint64_t kAll32 = std::uint64_t{1} << 32;

SampledProcess ReadProcess(Reader& in) {
  SampledProcess process;
  process.process = static_cast<ProcessIndex>(in.Below(kAll32));
  process.on_cpu_ns = in.Number();
  return process;
}

void ReadTables(Reader& in, NamedSamples& out) {
  out.begin_ns = in.Number();
  out.samples.of_part = in.Below(2) == 1;
  out.samples.lost_records = in.Number();
  out.samples.ends_lost = in.Below(2) == 1;
  out.refusal = in.Text();
  in.List(out.messages, [&] { return in.Text(); });
  Samples& samples = out.samples;
  in.List(samples.events, [&] {
    SampledEvent event;
    event.name = in.Text();
    event.rate = in.Text();
    event.periods = 1 + in.Below(2);
    event.off_cpu = in.Below(2) == 1;
    return event;
  });
  in.List(samples.contexts, [&] {
    SampleContext context;
    context.process = static_cast<ProcessIndex>(in.Below(kAll32));
    context.thread = static_cast<ThreadIndex>(in.Below(kAll32));
    out.in.push_back(in.Text());
    return context;
  });
  in.List(out.places, [&] {
    CodePlace place;
    place.function = in.Text();
    place.inlined = in.Below(2) == 1;
    place.dso = in.Text();
    return place;
  });
  bool empty_chain = false;
  in.List(out.chains, [&] {
    std::vector<std::uint32_t> chain;
    in.List(chain, [&] { return in.Below(out.places.size()); });
    empty_chain |= chain.empty();
    return chain;
  });
  samples.files = {
      {logformat::kUnknownCode, ""}, {logformat::kKernelCode, ""}, {"", ""}};
  in.List(samples.frames, [&] {
    StackFrame frame;
    // An earlier one; the first is the root.
    frame.parent = in.Below(std::max<std::size_t>(samples.frames.size(), 1));
    frame.file = in.Below(samples.files.size());
    out.chain_of_frame.push_back(in.Below(out.chains.size()));
    return frame;
  });
  in.List(samples.counts, [&] {
    SampleCount count;
    count.event = in.Below(samples.events.size());
    for (std::uint64_t* const to : {&count.counted, &count.idle, &count.outside,
                                    &count.lost, &count.throttled}) {
      *to = in.Number();
    }
    return count;
  });
  in.List(samples.shorts, [&] {
    ShortWaits waits;
    waits.event = in.Below(samples.events.size());
    for (std::uint64_t* const to :
         {&waits.shorter, &waits.shorter_ns, &waits.lost_ns, &waits.unseen}) {
      *to = in.Number();
    }
    return waits;
  });
  samples.interrupts_ns = in.Number();
  samples.cpu_ns = in.Number();
  in.List(samples.processes, [&] { return ReadProcess(in); });
  in.List(out.keys, [&] {
    SampleKey key;
    key.event = in.Below(samples.events.size());
    key.context = in.Below(samples.contexts.size());
    key.frame = in.Below(samples.frames.size());
    return key;
  });
  if (empty_chain) in.Below(0);
}

}  // namespace

std::string EncodeNamedSamples(const NamedSamples& named) {
  Writer out;
  const Samples& samples = named.samples;
  out.Number(named.begin_ns);
  out.Number(named.samples.of_part ? 1 : 0);
  out.Number(named.samples.lost_records);
  out.Number(named.samples.ends_lost ? 1 : 0);
  out.Text(named.refusal);
  out.List(named.messages, [&](const std::string& text) { out.Text(text); });
  out.List(samples.events, [&](const SampledEvent& event) {
    out.Text(event.name);
    out.Text(event.rate);
    out.Number(event.periods - 1);
    out.Number(event.off_cpu ? 1 : 0);
  });
  std::size_t next = 0;
  out.List(samples.contexts, [&](const SampleContext& context) {
    out.Number(static_cast<std::uint32_t>(context.process));
    out.Number(static_cast<std::uint32_t>(context.thread));
    out.Text(named.in[next++]);
  });
  out.List(named.places, [&](const CodePlace& place) {
    out.Text(place.function);
    out.Number(place.inlined ? 1 : 0);
    out.Text(place.dso);
  });
  out.List(named.chains, [&](const std::vector<std::uint32_t>& chain) {
    out.List(chain, [&](std::uint32_t place) { out.Number(place); });
  });
  next = 0;
  out.List(samples.frames, [&](const StackFrame& frame) {
    const std::string& path = samples.files[frame.file].path;
    out.Number(frame.parent);
    out.Number(path == logformat::kKernelCode    ? kKernel
               : path == logformat::kUnknownCode ? kNotKnown
                                                 : kOther);
    out.Number(named.chain_of_frame[next++]);
  });
  out.List(samples.counts, [&](const SampleCount& count) {
    for (const std::uint64_t number :
         {std::uint64_t{count.event}, count.counted, count.idle, count.outside,
          count.lost, count.throttled}) {
      out.Number(number);
    }
  });
  out.List(samples.shorts, [&](const ShortWaits& waits) {
    for (const std::uint64_t number :
         {std::uint64_t{waits.event}, waits.shorter, waits.shorter_ns,
          waits.lost_ns, waits.unseen}) {
      out.Number(number);
    }
  });
  out.Number(samples.interrupts_ns);
  out.Number(samples.cpu_ns);
  out.List(samples.processes, [&](const SampledProcess& process) {
    out.Number(static_cast<std::uint32_t>(process.process));
    out.Number(process.on_cpu_ns);
  });
  out.List(named.keys, [&](const SampleKey& key) {
    for (const std::uint32_t number : {key.event, key.context, key.frame}) {
      out.Number(number);
    }
  });
  LastPeriods last(samples.events.size());
  std::uint64_t last_ns = named.begin_ns;
  out.List(named.stored, [&](const StoredSample& sample) {
    out.Number(std::uint64_t{sample.key} << 2 | (sample.second ? 2 : 0) |
               (sample.stack_lost ? 1 : 0));
    out.Signed(sample.time_ns - std::exchange(last_ns, sample.time_ns));
    std::uint64_t& period =
        last.Of(named.keys[sample.key].event, sample.second);
    out.Signed(sample.period - std::exchange(period, sample.period));
  });
  return out.Take();
}

absl::StatusOr<NamedSamples> DecodeNamedSamples(
    std::span<const std::byte> bytes) {
  Reader in(bytes);
  NamedSamples out;
  if (in.ok()) ReadTables(in, out);
  LastPeriods last(out.samples.events.size());
  std::uint64_t last_ns = out.begin_ns;
  if (in.ok()) {
    in.List(out.stored, [&] {
      StoredSample sample;
      const std::uint64_t head = in.Below(4 * out.keys.size());
      if (!in.ok()) return sample;
      sample.key = static_cast<std::uint32_t>(head >> 2);
      sample.second = (head & 2) != 0;
      sample.stack_lost = (head & 1) != 0;
      sample.time_ns = last_ns += in.Signed();
      std::uint64_t& period =
          last.Of(out.keys[sample.key].event, sample.second);
      sample.period = period += in.Signed();
      return sample;
    });
  }
  if (!in.ok() || !in.at_end() || out.samples.frames.empty()) {
    return absl::DataLossError("The samples are damaged");
  }
  return out;
}

Samples SamplesOfRange(const NamedSamples& named, std::uint64_t from_ns,
                       std::uint64_t until_ns) {
  Samples out = named.samples;
  if (from_ns > named.begin_ns || until_ns != ~std::uint64_t{0}) {
    out.of_part = true;
    out.processes.clear();
  }
  std::vector<SampleSum> sums(named.keys.size());
  for (const StoredSample& sample : named.stored) {
    if (sample.time_ns < from_ns || sample.time_ns >= until_ns) continue;
    SampleSum& sum = sums[sample.key];
    ++sum.hits;
    if (sample.second) ++sum.second_hits;
    sum.periods += sample.period;
    const auto weight = static_cast<double>(sample.period);
    sum.squared_periods += weight * weight;
    if (sample.stack_lost) ++out.stacks_lost;
  }
  for (std::size_t key = 0; key < sums.size(); ++key) {
    SampleSum& sum = sums[key];
    if (sum.hits == 0) continue;
    sum.event = named.keys[key].event;
    sum.context = named.keys[key].context;
    sum.frame = named.keys[key].frame;
    out.sums.push_back(sum);
  }
  // As SampleSums has them: sums of doubles depend on the order.
  std::sort(out.sums.begin(), out.sums.end(),
            [](const SampleSum& a, const SampleSum& b) {
              return std::tie(a.event, a.context, a.frame) <
                     std::tie(b.event, b.context, b.frame);
            });
  return out;
}

}  // namespace countrace::rmap
