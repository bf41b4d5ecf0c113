/* For programs that write `#include <sms.h>`, as those of the paper do. */
#ifndef SMS_H
#define SMS_H

#include "musubi/sms.h"

#endif
