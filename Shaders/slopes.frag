// How steeply chroma goes with luma at each sample of a 4:2:0 picture: see CBeamPixels/chroma.c, of which this is the
// arithmetic. The result is as large as a chroma plane; red and green hold Cb's slope from -2 to 2 in 16 bits, blue and alpha
// Cr's.

uniform sampler2D plane0;  // Y
uniform sampler2D plane1;  // Cb
uniform sampler2D plane2;  // Cr

out vec4 result;

float luma(ivec2 place) {
    ivec2 last = textureSize(plane0, 0) - 1;
    ivec2 low = 2 * place;
    ivec2 high = min(low + 1, last);
    return 0.25 * (texelFetch(plane0, low, 0).r + texelFetch(plane0, ivec2(high.x, low.y), 0).r +
                   texelFetch(plane0, ivec2(low.x, high.y), 0).r + texelFetch(plane0, high, 0).r);
}

vec2 halvesOf(float slope) {
    float whole = floor((clamp(slope, -2.0, 2.0) + 2.0) * 8192.0 + 0.5);
    float upper = floor(whole / 256.0);
    return vec2(upper, whole - 256.0 * upper) / 255.0;
}

void main() {
    ivec2 place = ivec2(gl_FragCoord.xy);
    ivec2 last = textureSize(plane1, 0) - 1;
    // Luma, Cb and Cr of 3 × 3 samples; what is left without their mean and their gradient.
    vec3 samples[9];
    vec3 mean = vec3(0.0);
    vec3 across = vec3(0.0);
    vec3 down = vec3(0.0);
    for (int i = 0; i < 9; i++) {
        ivec2 offset = ivec2(i % 3, i / 3) - 1;
        ivec2 at = clamp(place + offset, ivec2(0), last);
        samples[i] = 255.0 * vec3(luma(at), texelFetch(plane1, at, 0).r, texelFetch(plane2, at, 0).r);
        mean += samples[i] / 9.0;
        across += samples[i] * float(offset.x) / 6.0;
        down += samples[i] * float(offset.y) / 6.0;
    }
    vec3 variance = vec3(0.0);
    vec2 covariance = vec2(0.0);
    for (int i = 0; i < 9; i++) {
        vec2 offset = vec2(ivec2(i % 3, i / 3) - 1);
        vec3 left = samples[i] - mean - across * offset.x - down * offset.y;
        variance += left * left / 9.0;
        covariance += left.x * left.yz / 9.0;
    }
    float explained = dot(covariance, covariance);
    float share = 0.0;
    if (explained > 1e-6) share = 1.75 - (0.75 * (variance.y + variance.z) + 2.0) * variance.x / explained;
    vec2 slopes = max(share, 0.0) * covariance / (variance.x + 10.0);
    result = vec4(halvesOf(slopes.x), halvesOf(slopes.y));
}
