#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What all of the C interface is made of: codes, errors, texts, ids.
///
/// **Structs** that may grow begin with `struct_size`, which the caller sets to `sizeof` the struct that it was compiled with. The library
/// reads that many bytes and takes the rest of its own struct as zero; zero always means the default. A struct that is larger than the
/// library's own is refused (`GANGSCHED_MALFORMED`) unless the part that the library does not know is zero. In an array all elements have
/// the size of the first.
///
/// **Texts** that are passed in end with a zero byte; a null pointer is the empty text. Everything passed in is copied.
///
/// **Threads**: one writer. A cluster, and the schedulers on it, belong to one thread at a time; functions that take them as const may be
/// called concurrently while no other thread writes. Handles that share nothing are independent.
///
/// **Misuse**: a null handle, a null struct and a null pointer for a required result are `GANGSCHED_MALFORMED`.

#if defined(GANGSCHED_SHARED) && defined(__GNUC__)
#define GANGSCHED_C_API __attribute__((visibility("default")))
#else
#define GANGSCHED_C_API
#endif

#ifdef __cplusplus
#define GANGSCHED_NOEXCEPT noexcept
extern "C" {
#else
#define GANGSCHED_NOEXCEPT
#endif

/// Why a call was refused. A call that is refused changed nothing, unless it says otherwise.
typedef int32_t gangsched_code;
enum {
  GANGSCHED_OK = 0,
  GANGSCHED_MALFORMED = 1,       ///< a structure or text that does not parse or is not allowed here; a null pointer
  GANGSCHED_OUT_OF_RANGE = 2,    ///< a number outside what the field may hold
  GANGSCHED_OVERFLOW = 3,        ///< a sum or product that does not fit into 64 bits
  GANGSCHED_DUPLICATE = 4,       ///< the name exists already
  GANGSCHED_UNKNOWN = 5,         ///< an unknown id or name
  GANGSCHED_WRONG_STATE = 6,     ///< the object exists, but the call does not apply to its state
  GANGSCHED_OUTDATED = 7,        ///< a late answer: the attempt that it names is over, or was replaced by another
  GANGSCHED_BUSY = 8,            ///< called from inside a plugin's callback
  GANGSCHED_TIME_WENT_BACK = 9,  ///< `now` was smaller than in an earlier call
  GANGSCHED_CONTRACT = 10,       ///< a plugin broke its contract
  GANGSCHED_NO_MEMORY = 11,      ///< out of memory; the same call may be repeated
  GANGSCHED_INTERNAL = 12        ///< an unexpected exception inside the library
};

/// The code's name, "out_of_range"; "" for an invalid code. Static storage. O(1).
GANGSCHED_C_API const char* gangsched_code_name(gangsched_code code) GANGSCHED_NOEXCEPT;

/// Receives the error of a failing call. The caller owns it, may use one for many calls, and may pass null where only the code matters. A
/// call that succeeds leaves it unchanged.
typedef struct gangsched_error gangsched_error;

/// Null if there is no memory.
GANGSCHED_C_API gangsched_error* gangsched_error_create(void) GANGSCHED_NOEXCEPT;
/// Null is allowed.
GANGSCHED_C_API void gangsched_error_destroy(gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The code of the last failure; GANGSCHED_OK if there was none.
GANGSCHED_C_API gangsched_code gangsched_error_code(const gangsched_error* error) GANGSCHED_NOEXCEPT;
/// "pod default/web-1: tolerations[2].effect: unknown effect"; its parts are the other three. Each is valid until the error is used by a
/// call that fails, or destroyed; "" if there is none.
GANGSCHED_C_API const char* gangsched_error_message(const gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API const char* gangsched_error_object(const gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API const char* gangsched_error_field(const gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API const char* gangsched_error_reason(const gangsched_error* error) GANGSCHED_NOEXCEPT;

/// A text that the library owns. It does not end with a zero byte.
typedef struct gangsched_text {
  const char* data;
  size_t size;
} gangsched_text;

/// Frees a text that a call returned to the caller (`char **`). Null is allowed.
GANGSCHED_C_API void gangsched_free(char* made) GANGSCHED_NOEXCEPT;

/// The version of the library at run time: "0.1.0". Static storage.
GANGSCHED_C_API const char* gangsched_version(void) GANGSCHED_NOEXCEPT;

/// Ids: 0 names nothing. They stay valid until the object is removed, and are not reused.
typedef struct gangsched_node_id {
  uint64_t value;
} gangsched_node_id;
typedef struct gangsched_pod_id {
  uint64_t value;
} gangsched_pod_id;
typedef struct gangsched_group_id {
  uint64_t value;
} gangsched_group_id;
typedef struct gangsched_queue_id {
  uint64_t value;
} gangsched_queue_id;
typedef struct gangsched_resource_claim_id {
  uint64_t value;
} gangsched_resource_claim_id;

/// One reservation of a node for a pod, from the decision to the answer; 0: none. Unique within a cluster.
typedef uint64_t gangsched_attempt;

/// Nanoseconds since an epoch of the host's choice; `GANGSCHED_NEVER` is never.
#define GANGSCHED_NEVER INT64_MAX

typedef struct gangsched_cluster gangsched_cluster;
typedef struct gangsched_scheduler gangsched_scheduler;
typedef struct gangsched_registry gangsched_registry;
typedef struct gangsched_configuration gangsched_configuration;

#ifdef __cplusplus
}
#endif
