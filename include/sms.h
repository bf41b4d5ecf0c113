/* For programs that write `#include <sms.h>`, as in the paper (SMS in docs/design/papers.md, section 4). */
#ifndef SMS_H
#define SMS_H

#include "musubi/sms.h"

#endif
