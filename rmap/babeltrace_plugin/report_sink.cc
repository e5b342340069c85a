// sink.countrace.report: the tables of `countrace report`, from any messages.
//
// In: messages of one input port, in time order. Out: text, after the last
// message. Thread: the graph's.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "base/posix/scoped_fd.h"
#include "logformat/import/mapping/mapping_file.h"
#include "rmap/babeltrace_plugin/components.h"
#include "rmap/babeltrace_plugin/method_status.h"
#include "rmap/babeltrace_plugin/parameters.h"
#include "rmap/babeltrace_plugin/trace_collection.h"
#include "rmap/report/report_names.h"
#include "rmap/report/report_render.h"

namespace countrace::rmap::babeltrace_plugin {
namespace {

class ReportSink {
 public:
  explicit ReportSink(bt_self_component_sink* self) : self_(self) {}
  ReportSink(const ReportSink&) = delete;
  ReportSink& operator=(const ReportSink&) = delete;
  ~ReportSink() {
    if (upstream_ != nullptr) bt_message_iterator_put_ref(upstream_);
  }

  absl::Status Initialize(const bt_value* params);
  absl::Status Connect();
  // Reads one batch of messages; prints after the last one. True: it printed.
  absl::StatusOr<bool> Consume();

  static ReportSink* Of(bt_self_component_sink* self) {
    return static_cast<ReportSink*>(bt_self_component_get_data(
        bt_self_component_sink_as_self_component(self)));
  }

 private:
  absl::Status OpenOutput();
  absl::StatusOr<bool> Print();
  absl::Status Write(const std::string& text);

  bt_self_component_sink* self_;
  std::string output_file_;
  base::ScopedFd output_fd_;
  RenderOptions render_;
  importer::Mapping mapping_;
  bt_message_iterator* upstream_ = nullptr;
  std::unique_ptr<TraceCollection> trace_;
  std::unique_ptr<logformat::TraceReader> reader_;  // after the last message
};

absl::Status ReportSink::Initialize(const bt_value* params) {
  std::string by, format = "text", map;
  std::uint64_t rows = render_.max_rows;
  Parameters parameters(params);
  parameters.Text("by", by);
  parameters.Text("format", format);
  parameters.Number("rows", rows);
  parameters.Text("map", map);
  parameters.Text("output", output_file_);
  const auto table = ReportTables().find(by);
  const auto chosen = ReportFormats().find(format);
  if (!by.empty() && table == ReportTables().end()) {
    parameters.Refuse("by", by, NamesOf(ReportTables()));
  }
  if (chosen == ReportFormats().end()) {
    parameters.Refuse("format", format, NamesOf(ReportFormats()));
  }
  if (absl::Status status = parameters.Finish(); !status.ok()) return status;
  if (!by.empty()) render_.by = table->second;
  render_.format = chosen->second;
  render_.max_rows = rows;
  if (!map.empty()) {
    auto mapping = importer::ReadMappingFile(map);
    if (!mapping.ok()) return mapping.status();
    mapping_ = *std::move(mapping);
  }
  if (!output_file_.empty()) {
    if (absl::Status status = OpenOutput(); !status.ok()) return status;
  }
  if (bt_self_component_sink_add_input_port(self_, "in", nullptr, nullptr) !=
      BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
    return absl::InternalError("Cannot add the input port `in`");
  }
  return absl::OkStatus();
}

// Opened before the work, so that a wrong name is an error at once; truncated
// after it.
absl::Status ReportSink::OpenOutput() {
  output_fd_ = base::ScopedFd(
      open(output_file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (output_fd_.is_open()) return absl::OkStatus();
  return absl::ErrnoToStatus(
      errno, absl::StrFormat("Cannot write %s, which parameter `output` names",
                             output_file_));
}

absl::Status ReportSink::Connect() {
  bt_self_component_port_input* port =
      bt_self_component_sink_borrow_input_port_by_index(self_, 0);
  if (!bt_port_is_connected(bt_self_component_port_as_port(
          bt_self_component_port_input_as_self_component_port(port)))) {
    return absl::FailedPreconditionError(
        "The input port `in` of sink.countrace.report is not connected; of "
        "several sources a muxer makes one");
  }
  if (bt_message_iterator_create_from_sink_component(self_, port, &upstream_) !=
      BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK) {
    return absl::InternalError("Cannot read the input port `in`");
  }
  auto trace = TraceCollection::Create(mapping_);
  if (!trace.ok()) return trace.status();
  trace_ = *std::move(trace);
  return absl::OkStatus();
}

absl::StatusOr<bool> ReportSink::Consume() {
  // An interruption ended the previous attempt to print.
  if (reader_ != nullptr) return Print();
  bt_message_array_const messages = nullptr;
  std::uint64_t count = 0;
  switch (bt_message_iterator_next(upstream_, &messages, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END: {
      auto reader = trace_->Finish();
      if (!reader.ok()) return reader.status();
      reader_ = *std::move(reader);
      return Print();
    }
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
      return absl::CancelledError("upstream has nothing yet");
    default:
      return absl::InvalidArgumentError("Cannot read the messages to the end");
  }
  absl::Status status;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (status.ok()) status = trace_->Take(*messages[i]);
    bt_message_put_ref(messages[i]);
  }
  if (!status.ok()) return status;
  return false;
}

absl::StatusOr<bool> ReportSink::Print() {
  const bool counts =
      render_.by == ReportBy::kHook && (render_.format == ReportFormat::kText ||
                                        render_.format == ReportFormat::kCsv);
  if (!counts) {
    const absl::Status status =
        CheckTimes(reader_->info(), "by=\"hook\" counts them, in text or CSV");
    if (!status.ok()) return status;
  }
  const auto report = ReconstructUnless(
      [this] { return bt_self_component_sink_is_interrupted(self_) != 0; },
      *reader_, /*observer=*/nullptr, {.preemptors = true});
  if (!report.ok()) return report.status();
  render_.width = base::OutputWidth(output_fd_.is_open() ? output_fd_.get()
                                                         : STDOUT_FILENO);
  const absl::Status status = Write(RenderReport(*report, render_));
  reader_.reset();
  trace_.reset();
  if (!status.ok()) return status;
  return true;
}

absl::Status ReportSink::Write(const std::string& text) {
  if (!output_fd_.is_open()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0) {
      return absl::OkStatus();
    }
    return absl::ErrnoToStatus(errno,
                               "Standard output did not take the report");
  }
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now =
        write(output_fd_.get(), text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) break;
    written += static_cast<std::size_t>(now);
  }
  // The length of a pipe or a device cannot be set.
  const bool cut =
      ftruncate(output_fd_.get(), static_cast<off_t>(text.size())) == 0;
  if (written == text.size() && (cut || errno == EINVAL)) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(
      errno, absl::StrFormat("%s did not take the report: %d of %d bytes",
                             output_file_, written, text.size()));
}

}  // namespace
}  // namespace countrace::rmap::babeltrace_plugin

using countrace::rmap::babeltrace_plugin::Guarded;
using countrace::rmap::babeltrace_plugin::ReportSink;
using countrace::rmap::babeltrace_plugin::ToMethodStatus;

bt_component_class_initialize_method_status countrace_report_initialize(
    bt_self_component_sink* self, bt_self_component_sink_configuration*,
    const bt_value* params, void*) {
  bt_self_component* component = bt_self_component_sink_as_self_component(self);
  return ToMethodStatus<bt_component_class_initialize_method_status>(
      component, Guarded([&] {
        auto sink = std::make_unique<ReportSink>(self);
        absl::Status status = sink->Initialize(params);
        // The library does not finalize a component whose initialization
        // failed.
        if (status.ok()) {
          bt_self_component_set_data(component, sink.release());
        }
        return status;
      }));
}

void countrace_report_finalize(bt_self_component_sink* self) {
  delete ReportSink::Of(self);
}

bt_component_class_sink_graph_is_configured_method_status
countrace_report_graph_is_configured(bt_self_component_sink* self) {
  return ToMethodStatus<
      bt_component_class_sink_graph_is_configured_method_status>(
      bt_self_component_sink_as_self_component(self),
      Guarded([&] { return ReportSink::Of(self)->Connect(); }));
}

bt_component_class_sink_consume_method_status countrace_report_consume(
    bt_self_component_sink* self) {
  bool printed = false;
  const auto status =
      ToMethodStatus<bt_component_class_sink_consume_method_status>(
          bt_self_component_sink_as_self_component(self),
          Guarded([&]() -> absl::Status {
            const auto done = ReportSink::Of(self)->Consume();
            printed = done.ok() && *done;
            return done.status();
          }));
  return printed ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END : status;
}
