#pragma once
// The only macro file. GANGSCHED_HEADER_ONLY makes every body in src/ an inline function of its header;
// GANGSCHED_ASSERT(condition) is the embedder's: define it, as an expression, before the first include to decide what a broken
// contract does. GANGSCHED_ABI is the version of the binary interface, which changes with the minor version until 1.0: an inline namespace
// around everything, so that an object file that was compiled against another version does not link in silence.

#define GANGSCHED_ABI v0_1

#ifndef GANGSCHED_HEADER_ONLY
#define GANGSCHED_HEADER_ONLY 0
#endif

#if GANGSCHED_HEADER_ONLY
#define GANGSCHED_INLINE inline
#else
#define GANGSCHED_INLINE
#endif

#if GANGSCHED_HEADER_ONLY || !defined(GANGSCHED_SHARED)
#define GANGSCHED_API
#else
#define GANGSCHED_API __attribute__((visibility("default")))
#endif

#ifndef GANGSCHED_ASSERT
#ifdef NDEBUG
#define GANGSCHED_ASSERT(condition) static_cast<void>(0)
#else
#include <cassert>
#define GANGSCHED_ASSERT(condition) assert(condition)
#endif
#endif
