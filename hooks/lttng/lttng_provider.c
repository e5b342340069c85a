/* libcountrace-lttng.so: static hooks as LTTng-UST events.
 *
 * A hook site begins with the fields of an LTTng tracepoint, and its gate with
 * that tracepoint's state (countrace/hook_site.h). Objects with hooks announce
 * themselves; each of their sites is registered as a call site of
 * `countrace:enter`, `:exit` or `:hook`. From then on LTTng itself opens and
 * closes the gates, before `lttng start` returns. This library polls nothing,
 * and a hook that no session has enabled costs what it costs without this
 * library.
 *
 * Threads: attach and detach run under the loader's lock or a lock of ours;
 * emitting takes no lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defined in this library only: no other library may have the same events. */
#define LTTNG_UST_TRACEPOINT_HIDDEN_DEFINITION
#define LTTNG_UST_TRACEPOINT_PROVIDER_HIDDEN_DEFINITION
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "countrace/hook_site.h"
#include "hooks/lttng/hook_tracepoints.h"
#include "hooks/lttng/payload_text.h"

#define SAME_PLACE(ours, theirs)                                    \
  _Static_assert(offsetof(struct countrace_hook_site, ours) ==      \
                     offsetof(struct lttng_ust_tracepoint, theirs), \
                 #ours)
SAME_PLACE(lttng_bytes, struct_size);
SAME_PLACE(lttng_provider, provider_name);
SAME_PLACE(lttng_event, event_name);
SAME_PLACE(gate.part.lttng_state, state);
SAME_PLACE(lttng_probes, probes);
SAME_PLACE(lttng_reference, tracepoint_provider_ref);
SAME_PLACE(lttng_signature, signature);
_Static_assert(offsetof(struct countrace_hook_site, sink) >=
                   sizeof(struct lttng_ust_tracepoint),
               "the tracepoint's words end before ours begin");

/* The `lttng` of all sites with the same name points at this. Never freed: the
 * names of a program are few, even if it loads a library many times, and at
 * exit other threads may still be in a hook.
 */
struct named_hook {
  struct countrace_lttng_sink sink;
  struct named_hook* next;
  char name[]; /* "provider:name" */
};

/* An object whose sites are registered. */
struct object {
  struct object* next;
  struct countrace_hook_site* const* start;
  int registered;
  int count;
  struct lttng_ust_tracepoint* sites[];
};

/* Guards the objects. */
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object* g_objects;
#define NAME_BUCKETS 1024
static struct named_hook* g_names[NAME_BUCKETS];
static int g_ready; /* our own tracepoints are registered */

static const uint32_t k_event_of_kind[] = {
    [COUNTRACE_SITE_POINT] = 0,
    [COUNTRACE_SITE_SEGMENT] = 1,
    [COUNTRACE_SITE_EXIT] = 2,
};
static struct lttng_ust_tracepoint* const k_tracepoints[] = {
    &lttng_ust_tracepoint_countrace___hook,
    &lttng_ust_tracepoint_countrace___enter,
    &lttng_ust_tracepoint_countrace___exit,
};

/* The number the hook has now. The upper half of `event_id` is 0 unless the
 * runtime library has registered the site. */
static uint32_t id_of(const struct countrace_hook_site* site) {
  const uint32_t event_id = __atomic_load_n(&site->event_id, __ATOMIC_RELAXED);
  return __atomic_load_n(&site->gate.part.enabled, __ATOMIC_RELAXED) != 0
             ? (event_id & 0xffff) / 2
             : site->hook_id;
}

static void emit_to_session(const struct countrace_hook_site* site,
                            uint32_t kind, const struct countrace_value* values,
                            const char* name) {
  char text[COUNTRACE_PAYLOAD_TEXT_BYTES];
  int64_t integers[COUNTRACE_MAX_PAYLOAD_VALUES];
  const uint8_t count =
      kind == COUNTRACE_SITE_EXIT || values == NULL ? 0 : site->count;
  if (count != 0) {
    countrace_payload_text(site, values, text);
    countrace_payload_integers(site, values, integers);
  } else {
    memcpy(text, "()", 3);
  }
  const uint32_t id = id_of(site);
  switch (kind) {
    case COUNTRACE_SITE_POINT:
      lttng_ust_do_tracepoint(countrace, hook, id, name, text, integers, count);
      return;
    case COUNTRACE_SITE_SEGMENT:
      lttng_ust_do_tracepoint(countrace, enter, id, name, text, integers,
                              count);
      return;
    default:
      lttng_ust_do_tracepoint(countrace, exit, id, name, text, integers, count);
  }
}

static void emit(const struct countrace_hook_site* site, uint32_t kind,
                 const struct countrace_value* values) {
  /* The exit of a scope may be off though its enter was on. */
  const struct lttng_ust_tracepoint* const tracepoint =
      k_tracepoints[k_event_of_kind[kind]];
  if (!__atomic_load_n(&g_ready, __ATOMIC_RELAXED) ||
      !__atomic_load_n(&tracepoint->state, __ATOMIC_RELAXED)) {
    return;
  }
  const int saved_errno = errno;
  emit_to_session(site, kind, values,
                  ((const struct named_hook*)site->lttng)->name);
  errno = saved_errno;
}

static int is_known(const struct countrace_hook_site* site) {
  return site->bytes == sizeof(struct countrace_hook_site) &&
         site->kind >= COUNTRACE_SITE_POINT &&
         site->kind <= COUNTRACE_SITE_EXIT &&
         site->count <= COUNTRACE_MAX_PAYLOAD_VALUES;
}

/* Null: no memory. */
static struct named_hook* find_name(const char* provider, const char* name) {
  char text[256];
  const int bytes =
      snprintf(text, sizeof(text), "%.120s:%.120s", provider, name);
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (int i = 0; i < bytes; ++i) hash = (hash ^ (uint8_t)text[i]) * 16777619u;
  struct named_hook** const bucket = &g_names[hash % NAME_BUCKETS];
  for (struct named_hook* known = *bucket; known != NULL; known = known->next) {
    if (strcmp(known->name, text) == 0) return known;
  }
  struct named_hook* const added = malloc(sizeof(*added) + (size_t)bytes + 1);
  if (added == NULL) return NULL;
  added->sink = (struct countrace_lttng_sink){sizeof(*added),
                                              COUNTRACE_ABI_VERSION, emit};
  memcpy(added->name, text, (size_t)bytes + 1);
  added->next = *bucket;
  *bucket = added;
  return added;
}

/* Makes the site a tracepoint. 0: no memory. */
static int prepare(struct countrace_hook_site* site) {
  const struct named_hook* const hook = find_name(site->provider, site->name);
  if (hook == NULL) return 0;
  site->lttng = &hook->sink;
  const struct lttng_ust_tracepoint* const event =
      k_tracepoints[k_event_of_kind[site->kind]];
  site->lttng_bytes = sizeof(struct lttng_ust_tracepoint);
  site->lttng_provider = event->provider_name;
  site->lttng_event = event->event_name;
  site->lttng_reference = event->tracepoint_provider_ref;
  site->lttng_signature = event->signature;
  return 1;
}

static void register_object(struct object* object) {
  const struct lttng_ust_tracepoint_dlopen* const ust =
      lttng_ust_tracepoint_dlopen_ptr;
  if (object->registered || ust == NULL ||
      ust->lttng_ust_tracepoint_module_register == NULL) {
    return;
  }
  object->registered = 1;
  ust->lttng_ust_tracepoint_module_register(object->sites, object->count);
}

__attribute__((visibility("default"))) void countrace_lttng_attach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop, uint32_t abi) {
  if (start == stop) return;
  if (abi != COUNTRACE_ABI_VERSION) {
    fprintf(stderr,
            "countrace: hooks of one object do not reach LTTng: it was built "
            "with hook ABI %u, libcountrace-lttng.so has %u; rebuild it with "
            "the headers of this version\n",
            abi, COUNTRACE_ABI_VERSION);
    return;
  }
  const size_t most = (size_t)(stop - start);
  struct object* const object = malloc(sizeof(*object) + most * sizeof(void*));
  if (object == NULL) return;
  *object = (struct object){.start = start};
  pthread_mutex_lock(&g_lock);
  for (struct countrace_hook_site* const* at = start; at < stop; ++at) {
    /* A site that is listed twice is prepared already. */
    if (!is_known(*at) || (*at)->lttng != NULL || !prepare(*at)) continue;
    object->sites[object->count++] = (struct lttng_ust_tracepoint*)*at;
  }
  object->next = g_objects;
  g_objects = object;
  /* An object may be initialised before this library is. */
  if (g_ready) register_object(object);
  pthread_mutex_unlock(&g_lock);
}

__attribute__((visibility("default"))) void countrace_lttng_detach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop) {
  (void)stop;
  pthread_mutex_lock(&g_lock);
  struct object** link = &g_objects;
  while (*link != NULL && (*link)->start != start) link = &(*link)->next;
  struct object* const object = *link;
  if (object != NULL) *link = object->next;
  pthread_mutex_unlock(&g_lock);
  if (object == NULL) return;
  const struct lttng_ust_tracepoint_dlopen* const ust =
      lttng_ust_tracepoint_dlopen_ptr;
  if (object->registered && ust != NULL &&
      ust->lttng_ust_tracepoint_module_unregister != NULL) {
    ust->lttng_ust_tracepoint_module_unregister(object->sites);
  }
  free(object);
}

/* Defined after the constructors of LTTng's headers above, which register our
 * own tracepoints: the constructors of one file run in its order. */
__attribute__((constructor)) static void begin(void) {
  pthread_mutex_lock(&g_lock);
  __atomic_store_n(&g_ready, 1, __ATOMIC_RELAXED);
  for (struct object* o = g_objects; o != NULL; o = o->next) register_object(o);
  pthread_mutex_unlock(&g_lock);
}

/* Runs before the destructors of LTTng's headers, which unregister the
 * tracepoints. */
__attribute__((destructor)) static void end(void) {
  __atomic_store_n(&g_ready, 0, __ATOMIC_RELAXED);
}
