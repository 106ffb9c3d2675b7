#include "annotate/annotations.h"
