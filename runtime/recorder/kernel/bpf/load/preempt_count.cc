#include "runtime/recorder/kernel/bpf/load/preempt_count.h"

#include <bpf/btf.h>

#include <memory>
#include <optional>
#include <string_view>

namespace countrace::runtime {

// A typed extern of the program would need the symbol's address, which kernels
// without CONFIG_KALLSYMS_ALL do not have; the distance needs none.
std::int64_t PreemptCountFromRunQueue() {
  const std::unique_ptr<btf, decltype(&btf__free)> kernel(
      btf__load_vmlinux_btf(), btf__free);
  if (kernel == nullptr) return 0;
  const std::int32_t section =
      btf__find_by_name_kind(kernel.get(), ".data..percpu", BTF_KIND_DATASEC);
  if (section < 0) return 0;
  const btf_type* const type =
      btf__type_by_id(kernel.get(), static_cast<std::uint32_t>(section));
  std::optional<std::int64_t> queue, count;
  const btf_var_secinfo* const variables = btf_var_secinfos(type);
  for (std::uint16_t i = 0; i < btf_vlen(type); ++i) {
    const btf_type* const variable =
        btf__type_by_id(kernel.get(), variables[i].type);
    const std::string_view name =
        btf__name_by_offset(kernel.get(), variable->name_off);
    if (name == "runqueues") queue = variables[i].offset;
    if (name == "__preempt_count") count = variables[i].offset;
    // Behind the current task (arch/x86/include/asm/current.h). If a program
    // needs this type and the kernel has none, libbpf looks for it
    // in modules, which needs CAP_SYS_ADMIN.
    if (name == "pcpu_hot") count = variables[i].offset + sizeof(void*);
  }
  return queue && count ? *count - *queue : 0;
}

}  // namespace countrace::runtime
