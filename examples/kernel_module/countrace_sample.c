// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Hooks in a module: a timer queues work, the work handles requests. Prints the
 * true number of its hooks' hits at unload, to compare with a report.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "countrace_kernel_hooks.h"

#define PERIOD (HZ / 50 + 1)

static unsigned int batches = 20;
module_param(batches, uint, 0444);
MODULE_PARM_DESC(batches, "times that the timer queues work");
static unsigned int requests = 5;
module_param(requests, uint, 0444);
MODULE_PARM_DESC(requests, "requests of each batch");

static atomic_t ticks, batches_done, handled, odd;
static u64 bytes;

static noinline void handle(unsigned int request) {
  const char* const kind = request % 2 ? "odd" : "even";
  unsigned int i;
  volatile unsigned int sum = 0;

  COUNTRACE_SEGMENT_ID(42, "countrace_sample", "handle", request, kind);
  for (i = 0; i < 1000; ++i) sum += i;
  bytes += 100 + request;
  COUNTRACE_HOOK("countrace_sample", "bytes", 100 + request, &bytes);
  atomic_inc(&handled);
  if (request % 2 == 0) return;
  COUNTRACE_HOOK("countrace_sample", "odd");
  atomic_inc(&odd);
}

static void work_function(struct work_struct* work) {
  unsigned int i;

  COUNTRACE_ENTER("countrace_sample", "batch", (u64)requests, -1, 'x', true,
                  "all", work);
  for (i = 0; i < requests; ++i) handle(i);
  atomic_inc(&batches_done);
  COUNTRACE_EXIT("countrace_sample", "batch");
}

static DECLARE_WORK(work, work_function);

static void tick(struct timer_list* timer) {
  COUNTRACE_SEGMENT("countrace_sample", "tick");
  if (atomic_inc_return(&ticks) < batches) mod_timer(timer, jiffies + PERIOD);
  schedule_work(&work);
}

static DEFINE_TIMER(timer, tick);

static int set_start(const char* value, const struct kernel_param* parameter) {
  mod_timer(&timer, jiffies + PERIOD);
  return 0;
}
static const struct kernel_param_ops start_ops = {.set = set_start};
module_param_cb(start, &start_ops, NULL, 0200);
MODULE_PARM_DESC(start, "a write starts the timer");

static int __init sample_init(void) { return 0; }

static void __exit sample_exit(void) {
  del_timer_sync(&timer);
  flush_work(&work);
  pr_info("countrace_sample: tick=%d batch=%d handle=%d bytes=%llu odd=%d\n",
          atomic_read(&ticks), atomic_read(&batches_done),
          atomic_read(&handled), bytes, atomic_read(&odd));
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("Example of countrace_kernel_hooks.h");
MODULE_LICENSE("Dual MIT/GPL");
