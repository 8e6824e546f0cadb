#pragma once
#include <libyuv/compare.h>
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>
