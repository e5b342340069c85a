#include "viewer/server/http/trace_events.h"

#include <deque>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

// A record whose bytes outlive the reading.
struct KeptRecord {
  logformat::EventRecord record;
  std::vector<std::byte> bytes;
  std::uint64_t nth = 0;
};

class PageSink final : public logformat::ItemSink {
 public:
  PageSink(std::uint64_t begin_ns, EventPlace place, bool back,
           std::size_t limit)
      : begin_ns_(begin_ns), place_(place), back_(back), limit_(limit) {}

  void OnRecord(const logformat::EventRecord& record) override {
    if (done_) return;
    const std::uint64_t time_ns =
        record.time_ns - std::min(record.time_ns, begin_ns_);
    nth_ = time_ns == time_ns_ ? nth_ + 1 : 0;
    time_ns_ = time_ns;
    const bool before =
        std::tie(time_ns, nth_) < std::tie(place_.time_ns, place_.nth);
    if (before != back_) {
      done_ = back_;
      return;
    }
    if (kept_.size() < limit_) {
      kept_.emplace_back();
    } else if (back_ && limit_ > 0) {
      kept_.push_back(std::move(kept_.front()));
      kept_.pop_front();
    } else {
      done_ = true;
      return;
    }
    KeptRecord& kept = kept_.back();
    kept.record = record;
    kept.bytes.assign(record.bytes.begin(), record.bytes.end());
    kept.record.bytes = kept.bytes;
    kept.nth = nth_;
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override {}
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {}

  bool done() const { return done_; }
  const std::deque<KeptRecord>& kept() const { return kept_; }

 private:
  const std::uint64_t begin_ns_;
  const EventPlace place_;
  const bool back_;
  const std::size_t limit_;
  std::uint64_t time_ns_ = ~std::uint64_t{0}, nth_ = 0;
  bool done_ = false;
  std::deque<KeptRecord> kept_;
};

}  // namespace

absl::StatusOr<Json> TraceEvents::Page(std::uint64_t begin_ns, EventPlace place,
                                       bool back, std::size_t limit) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!reader_) {
    auto reader = logformat::TraceReader::Open(trace_path_);
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
    renderer_ = std::make_unique<logformat::ScriptJsonRenderer>(
        reader_->info(), logformat::ScriptJsonRenderer::Values{.names = true});
  }
  PageSink sink(begin_ns, place, back, limit);
  const absl::Status read = reader_->Read(
      sink, [&sink](const logformat::Progress&) { return !sink.done(); });
  if (!read.ok() && !absl::IsCancelled(read)) return read;
  Json items = Json::array();
  for (const KeptRecord& kept : sink.kept()) {
    std::string text;
    logformat::EventRecord record = kept.record;
    record.bytes = kept.bytes;
    renderer_->AppendRecord(record, text);
    Json item = Json::parse(text, nullptr, false);
    if (!item.is_object()) continue;
    item.erase("time_ns");
    item["t"] = record.time_ns - std::min(record.time_ns, begin_ns);
    item["nth"] = kept.nth;
    items.push_back(std::move(item));
  }
  // Behind the last one there may be none; before the first one, too.
  return Json{{"items", std::move(items)},
              {"more", back ? sink.kept().size() == limit : sink.done()}};
}

}  // namespace countrace::viewer
