// libseccomp, whose actions are macros with arguments, which Swift does not see.
#pragma once
#include <errno.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <seccomp.h>

static const uint32_t CS_ALLOW = SCMP_ACT_ALLOW;
static inline uint32_t cs_refuse(int error) { return SCMP_ACT_ERRNO(error); }
