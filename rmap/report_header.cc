#include "rmap/report_header.h"

#include "logformat/description/trace_description.h"

namespace countrace::rmap {

void FillHeader(const logformat::TraceReader& reader, const Gate& gate,
                Report& report) {
  const logformat::TraceInfo& info = reader.info();
  report.path = info.path;
  switch (info.scope) {
    case logformat::SessionScope::kHooksOnly:
      report.scope = "hooks";
      break;
    case logformat::SessionScope::kCommand:
      report.scope = "command";
      break;
    case logformat::SessionScope::kSystem:
      report.scope = "system";
      break;
  }
  report.count = gate.CountText();
  report.marks = gate.marks();
  report.command = info.command;
  report.triggers = info.triggers;
  report.source = info.source;
  report.not_known = info.not_known;
  report.hostname = info.hostname;
  report.host_ids = logformat::IdsOf(info);
  report.kernel_release = info.kernel_release;
  report.cpus = info.cpus;
  report.own_cost.bpf_ns = info.own_bpf_ns;
  report.own_cost.bpf_sampled_ns = info.own_bpf_sampled_ns;
  report.own_cost.hook_cpu_ps = info.own_hook_cpu_ps;
  report.own_cost.hook_ps = info.own_hook_ps;
  report.own_cost.hook_dump_ps = info.own_hook_dump_ps;
  report.finished = info.finished;
  report.late_sub_buffers = reader.late_sub_buffers();
}

}  // namespace countrace::rmap
